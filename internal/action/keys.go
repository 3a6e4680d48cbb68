package action

// Keys are the keys that a person chose instead of the usual ones, by name: of actions, and of
// what moves about on a surface. nil: all are as usual.
type Keys map[string]string

// Of is the key of an action, "" for none.
func (k Keys) Of(name string) string {
	if own, ok := k[name]; ok {
		return own
	}
	return Named(name).Key
}

// Chosen are the keys that a person chose, by the usual ones.
func (k Keys) Chosen() map[string]string {
	if len(k) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, a := range Actions() {
		if own := k.Of(a.Name); a.Key != "" && own != a.Key {
			out[a.Key] = own
		}
	}
	return out
}

// of is the key of a row, without looking for it again.
func (k Keys) of(v definition) string {
	if own, ok := k[v.name]; ok {
		return own
	}
	return v.key
}
