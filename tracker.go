package ralph

// Service is an outside service that ralph sends to: a tracker.
type Service string

// The trackers.
const (
	GitHub      Service = "github"
	Jira        Service = "jira"
	AzureDevOps Service = "ado"
)

// Services are all of them, in the order in which people are shown them.
func Services() []Service { return []Service{GitHub, Jira, AzureDevOps} }

// Title is how people call it.
func (s Service) Title() string {
	switch s {
	case GitHub:
		return "GitHub"
	case Jira:
		return "Jira"
	case AzureDevOps:
		return "Azure DevOps"
	}
	return string(s)
}
