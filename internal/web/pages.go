package web

// pages are all addresses that people look at. Each page has a file of its own here,
// and one in internal/web/view.
func pages() map[string]pageFunc {
	return map[string]pageFunc{
		"/{$}":              overview,
		"/search":           search,
		"/gates":            gates,
		"/gate/{id}":        gate,
		"/plan":             planPage,
		"/specs":            specs,
		"/spec/{name...}":   spec,
		"/receipts":         receipts,
		"/receipt/{seq}":    receipt,
		"/replay":           replay,
		"/replay/{session}": replay,
		"/history":          history,
		"/plan/graph":       graphPage,
		"/settings":         settings,
		"/doctor":           doctor,
		"/settings/file":    settingsText,
		"/session/{id}":     session,
		"/task/{id}":        taskPage,
		"/session/{id}/log": logPage,
		"/log":              logPage,
	}
}
