package web

// pages are all addresses that people look at. Each page has a file of its own here,
// and one in internal/web/view.
func pages() map[string]pageFunc {
	return map[string]pageFunc{
		"/{$}":              overview,
		"/search":           search,
		"/gates":            gatesPage,
		"/gate/{id}":        gate,
		"/plan":             planPage,
		"/threads":          threadsPage,
		"/decisions":        decisionsPage,
		"/specs":            specs,
		"/spec/{name...}":   spec,
		"/receipts":         receiptsPage,
		"/receipt/{seq}":    receipt,
		"/replay":           replay,
		"/replay/{session}": replay,
		"/history":          historyPage,
		"/plan/graph":       graphPage,
		"/settings":         settings,
		"/services":         outsideServices,
		"/doctor":           doctor,
		"/settings/file":    settingsText,
		"/session/{id}":     session,
		"/task/{id}":        taskPage,
		"/session/{id}/log": logPage,
		"/log":              logPage,
	}
}
