package operation

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// tokens are the parts of a word that are words themselves: deploy:prod has two, and
// deployToProduction three.
func tokens(w word) []string {
	var b strings.Builder
	lower := false
	for _, r := range w.String() {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

func deploysTo(w word) bool {
	return slices.ContainsFunc(tokens(w), func(t string) bool {
		return slices.Contains([]string{"prod", "production", "prd", "nprod", "nproduction", "eprod", "eproduction", "prodution", "live"}, t) && t != "live" || strings.HasSuffix(t, "prod") && len(t) < 9 && t != "nonprod" && t != "preprod" && t != "notprod"
	}) && !nonProduction.MatchString(w.text)
}

var nonProduction = lazyregexp.New(`(?i)(non|not|pre|no)[-_]?prod`)

func deployWord(w word) bool {
	return slices.ContainsFunc(tokens(w), func(t string) bool {
		return slices.Contains([]string{"deploy", "deploys", "redeploy", "autodeploy", "deployprod", "deployproduction", "productiondeploy", "proddeploy"}, t)
	})
}

// deploy judges whether a command puts something into production, or changes what is there.
func (k *analysis) deploy(name string, ws, set []word, in *source) {
	if name == "cd" || k.own {
		return
	}
	wrapped := false
	if _, ok := wrappers()[name]; ok {
		wrapped = true
	}
	if slices.Contains([]string{"kubectl", "oc", "k", "docker", "podman", "docker-compose", "ssh", "kustomize", "kubectx"}, name) {
		return // see remote
	}
	if isLocal(name, ws) || dryRun(ws) || name == "git" || (isFileProgram(name) && name != "rsync" && name != "scp") || name == "curl" || name == "gh" || name == "glab" {
		return
	}
	if in != nil && in.text != "" && in.known && len(in.text) < 400 && !wrapped {
		set = append(set[:len(set):len(set)], fields(in.text)...) // what deploys may read where to
	}
	all := slices.Concat(set, ws)
	for _, n := range slices.Sorted(maps.Keys(k.s.vars)) {
		v := k.s.vars[n]
		if environment.MatchString(n) && len(v) > 0 && deploysTo(v[0]) {
			all = append(all, plain(n+"="+v[0].text))
		}
	}
	if wrapped { // judged as what it wraps, for its targets; here for the variables before it
		for i := 1; i < len(ws); i++ {
			inner := base(ws[i])
			if isKnownDeployer(inner) {
				k.deploy(inner, ws[i:], all[:len(all)-len(ws)], nil)
				return
			}
			if isLocal(inner, ws[i:]) && !strings.HasPrefix(ws[i].text, "-") {
				return
			}
		}
	}
	prod := slices.ContainsFunc(all, deploysTo) || k.s.prod
	if prod && slices.ContainsFunc(ws[1:min(len(ws), 6)], func(w word) bool {
		return schemaWord.MatchString(w.lower()) || (name == "alembic" || name == "flask") && (w.text == "upgrade" || w.text == "downgrade")
	}) {
		k.never(productionDeploy, all)
		return
	}
	if k.changes(name, ws, prod, all) {
		return
	}
	if !deploysByName(name, ws) {
		return
	}
	switch {
	case prod:
		k.never(productionDeploy, all)
	case (deployWord(plain(name)) || slices.ContainsFunc(ws[1:], deployWord)) && slices.ContainsFunc(ws[1:], func(w word) bool {
		return w.holes() && (w.many || w.text == hole || strings.HasSuffix(w.text, "="+hole))
	}):
		k.unknown("where it deploys to is hidden in a variable or a substitution", all)
	}
}

var environment = lazyregexp.New(`(?i)^(.*_)?(ENV|ENVIRONMENT|STAGE|TARGET|CONTEXT|WORKSPACE|PROFILE|PROJECT|NAMESPACE|CLUSTER|TF_WORKSPACE|AWS_PROFILE|APP|HEROKU_APP|DEPLOY_ENV)$`)

// deploysByName reports whether the program, or what it is told to run, is called so.
func deploysByName(name string, ws []word) bool {
	if deployWord(plain(name)) {
		return true
	}
	for i, w := range ws[1:] {
		if i > 5 {
			break
		}
		if strings.HasPrefix(w.text, "-") || strings.Contains(w.text, "/") && i > 1 && !wraps(name) {
			continue
		}
		if deployWord(w) || slices.ContainsFunc(tokens(w), func(t string) bool {
			return slices.Contains([]string{"release", "rollout", "promote", "rollback", "ship", "provision", "destroy", "teardown"}, t)
		}) {
			return true
		}
	}
	return slices.ContainsFunc(tokens(plain(name)), func(t string) bool {
		return slices.Contains([]string{"release", "rollout", "promote", "rollback", "ship", "teardown"}, t)
	})
}

func wraps(name string) bool {
	_, ok := wrappers()[name]
	return ok
}

// service is a program that changes what runs somewhere.
type service struct {
	reads  string // its words that only look
	writes string // its words that change; "": all others
	ever   string // that are for production whatever else is said
	hosted bool   // what it changes is on other machines whatever it is called
}

func services(name string) (service, bool) {
	switch name {
	case "terraform", "tofu", "terragrunt", "pulumi", "cdktf", "cdk", "sst":
		return service{hosted: true, writes: "apply up destroy import taint run-all refresh deploy remove update rollback state"}, true
	case "vercel", "vc", "now":
		return service{reads: "ls list logs inspect whoami help --help --version dev build link env pull login teams switch project domains certs dns secrets init bisect -v -h", ever: "promote rollback --prod alias remove rm redeploy"}, true
	case "aws", "gcloud", "az", "gsutil", "s3cmd", "mc", "bq", "eksctl", "kops", "gcloud-sdk", "s4cmd", "s5cmd", "azcopy", "rclone-sync":
		return service{}, true
	}
	for _, end := range []string{"-cli", "-tools"} { // npx eas-cli
		if short, ok := strings.CutSuffix(name, end); ok && short != "" {
			return services(short)
		}
	}
	return service{}, false
}

func isKnownDeployer(name string) bool {
	_, ok := services(name)
	return ok || distant(name) || slices.Contains([]string{"kubectl", "docker", "ssh", "rsync", "scp", "make", "npm", "yarn", "pnpm", "just", "rake"}, name)
}

var (
	cloudDeletes = lazyregexp.New(`^(admin-)?(delete|close|batch-delete|stop-instances|reboot-instances|send-command|send-bulk-email|send-email|send-raw-email|send-templated-email|terminate|remove|destroy|purge|rb|deregister|disable|reset|detach|revoke|schedule-key-deletion|empty|wipe)(-|$)|^(rm|rb|mb|del)$|^delete`)
	cloudWrites  = lazyregexp.New(`^(update|put|create|deploy|modify|set|start|stop|reboot|run|restart|publish|promote|scale|apply|up|sync|rsync|cp|mv|import|restore|add|replace|attach|invoke|rollback|release|execute|swap|register|send|push|import-image|reset|resize|failover|migrate|patch|upgrade|enable|upload|change|config-zip)(-|$)|^deploy`)
	cloudReads   = lazyregexp.New(`^(describe|list|get|show|ls|logs|login|configure|version|info|config|whoami|help|print|wait|filter|lookup|check|validate|export|download|view|auth|sts|read|search|head|tail|test|account|estimate|preview|synth|diff|plan|build|package|lint|invoke-local|local)(-|$)`)
)

// changes judges the programs that services knows; true: nothing else need be asked about it.
func (k *analysis) changes(name string, ws []word, prod bool, all []word) bool {
	s, ok := services(name)
	if slices.Contains([]string{"sftp", "lftp", "ftp", "ncftp", "ncftpput"}, name) && prod && !given(ws, "--help --version") {
		k.never(productionDeploy, all)
		return true
	}
	if name == "rsync" || name == "scp" || name == "sftp" || name == "lftp" {
		if len(ws) > 2 {
			last := ws[len(ws)-1]
			if host, _, remote := strings.Cut(last.text, ":"); remote && deploysTo(plain(strings.ReplaceAll(host, ".", " "))) {
				k.never(productionDeploy, all)
			} else if remote && given(ws[1:], "--delete --del --delete-after --delete-excluded --delete-before") && !dryRun(ws) && name == "rsync" {
				k.unknown("what it deletes on another machine may be in production", all)
			}
		}
		return true
	}
	if !ok || len(ws) < 2 && name != "vercel" && name != "vc" {
		return ok && name != "vercel" && name != "vc"
	}
	_, operands := arguments0(ws, " -n --namespace --context --profile --project -p --region -e --env --stage -a --app --kube-context -f --values --set -i --inventory -l --limit -t --tags -C --target --resource-group -g --name --subscription --query --output -o --function-name --cluster --scope --config -c --kubeconfig --extra-vars --vault-password-file --token --team --account ")
	words := append(slices.Clone(operands), ws[1:]...)
	has := func(list string) bool {
		if list == "" {
			return false
		}
		wanted := strings.Fields(list)
		return slices.ContainsFunc(words, func(w word) bool { return slices.Contains(wanted, w.lower()) })
	}
	if len(operands) > 0 && operands[0].many {
		k.unknown("what it does is hidden in a variable or a substitution", all)
		return true
	}
	if name == "aws" || name == "gcloud" || name == "az" || name == "gsutil" || name == "s3cmd" || name == "mc" || name == "bq" || name == "eksctl" || name == "kops" || name == "s4cmd" || name == "s5cmd" || name == "azcopy" {
		k.cloud(name, ws, operands, prod, all)
		return true
	}
	if s.reads != "" && len(operands) > 0 && slices.Contains(strings.Fields(s.reads), operands[0].lower()) && !has(s.ever) || given(ws[1:], "--help --version") || len(operands) > 0 && slices.Contains([]string{"version", "help", "plan", "validate", "fmt", "init", "show", "output", "preview", "diff", "list", "ls", "status", "logs", "get", "template", "lint", "search", "repo", "dependency", "history", "test", "pull", "package", "create", "graph", "console", "providers", "login", "whoami", "synth", "bootstrap", "build", "doctor", "open", "info", "dev", "watch", "config", "list-units", "is-active", "show-env", "emulators:start", "serve", "use", "workspace", "is-enabled", "cat", "daemon-reload", "exec"}, operands[0].lower()) && !(s.hosted && takesAway(operands[1:])) {
		return true
	}
	switch {
	case name == "vercel" || name == "vc" || name == "now":
		if has(s.ever) || len(operands) == 0 && (prod || !has("--target --prebuilt")) || slices.ContainsFunc(ws, func(w word) bool { return w.text == "--target=production" }) || prod || len(operands) > 0 && operands[0].text == "deploy" && has("--prod") {
			if has("--target=preview") {
				return true
			}
			k.never(productionDeploy, all)
		}
		return true
	case has(s.ever):
		if local(ws) || slices.ContainsFunc(ws, func(w word) bool { return deployStaging.MatchString(w.text) }) {
			return true
		}
		k.never(productionDeploy, all)
		return true
	}
	writes := s.writes != "" && has(s.writes)
	switch {
	case writes && prod, prod && sqlWrites.MatchString(joined(ws)):
		k.never(productionDeploy, all)
	case s.hosted && takesAway(operands) && !local(ws):
		k.unknown("what it takes away may be in production", all)
	case name == "terraform" && len(operands) > 0 && operands[0].lower() == "apply" && !given(ws[1:], "--auto-approve --destroy") && !slices.ContainsFunc(ws, func(w word) bool { return strings.HasPrefix(w.text, "-auto-approve") || w.text == "-destroy" }):
		// it asks before it does so, and gate.patterns holds it, which a person may change
	case s.hosted && slices.ContainsFunc(operands[:min(len(operands), 2)], func(w word) bool { return hostedWrites.MatchString(w.lower()) }) && !local(ws) && !slices.ContainsFunc(ws, func(w word) bool { return deployStaging.MatchString(w.text) }):
		k.unknown("what it changes may be in production", all)
	case writes && slices.ContainsFunc(ws[1:], func(w word) bool { return w.holes() && (w.many || w.text == hole) }):
		k.unknown("where it deploys to is hidden in a variable or a substitution", all)
	}
	return true
}

var (
	hostedWrites = lazyregexp.New(`^(deploy|up|push|publish|release|promote|rollback|apply|redeploy|upload|submit|provision|create-deployment|run-all|taint|untaint|import|force-unlock)([-:]|$)`)
	hostedWipes  = lazyregexp.New(`^(down|disable|stop)$`)
	schemaWord   = lazyregexp.New(`^(db:|doctrine:migrations:)?(migrate|rollback|schema:load)$|^ecto\.(migrate|rollback)$|^migrate:(up|run|latest|deploy|rollback)$|^db:seed$`)
)

// takesAway reports whether the verb among the operands of a service removes something.
func takesAway(operands []word) bool {
	return slices.ContainsFunc(operands[:min(len(operands), 3)], func(w word) bool {
		return cloudDeletes.MatchString(w.lower()) || hostedWipes.MatchString(w.lower())
	})
}

var deployStaging = lazyregexp.New(`(?i)\b(staging|stage|preview|dev|test|qa|sandbox|channel:deploy|draft)\b`)

// cloud judges the command lines of clouds: a verb, and what it is for.
func (k *analysis) cloud(name string, ws, operands []word, prod bool, all []word) {
	verb, deletes, writes := "", false, false
	for i, o := range operands {
		t := o.lower()
		if i > 4 || o.holes() || strings.Contains(t, "/") {
			break
		}
		switch {
		case cloudReads.MatchString(t) && name != "gcloud" && i > 0, name != "aws" && cloudReads.MatchString(t):
			if !slices.ContainsFunc(operands[i:], func(w word) bool {
				return cloudDeletes.MatchString(w.lower()) || strings.HasPrefix(w.text, "deploy") || w.text == "config-zip"
			}) {
				return
			}
		case cloudDeletes.MatchString(t):
			verb, deletes = t, true
		case cloudWrites.MatchString(t):
			verb, writes = t, true
		}
	}
	dest := word{}
	if len(operands) > 0 {
		dest = operands[len(operands)-1]
	}
	s3 := name == "aws" && len(operands) > 1 && operands[0].text == "s3" || name == "gsutil" || name == "s3cmd" || name == "mc" || name == "s4cmd" || name == "s5cmd" || name == "azcopy" || name == "gcloud" && len(operands) > 1 && operands[0].text == "storage"
	switch {
	case verb == "":
	case s3 && !deletes && !strings.Contains(dest.text, "://") && name != "mc":
		return // to this machine
	case prod && s3 && !deletes && !deploysTo(dest):
		return
	case prod:
		k.never(productionDeploy, all)
	case deletes && (verb == "delete-message" || verb == "delete-tags" || strings.HasSuffix(verb, "-tags")):
	case name == "aws" && len(operands) > 0 && slices.Contains([]string{"rds", "dynamodb", "redshift", "docdb", "neptune"}, operands[0].text) && deletes && deployRe0.MatchString(verb) && !local(ws):
		k.never(dropDatabase, all)
	case deletes && slices.ContainsFunc(operands, func(w word) bool { return w.text == "sql" || w.text == "spanner" || w.text == "firestore" }) && name != "aws" && !local(ws), name == "az" && deletes && slices.ContainsFunc(operands, func(w word) bool {
		return w.text == "postgres" || w.text == "mysql" || w.text == "sql" || w.text == "cosmosdb"
	}) && !local(ws):
		k.never(dropDatabase, all)
	case deletes && !local(ws), s3 && given(ws[1:], "--delete --delete-removed -d") && writes && !local(ws):
		k.unknown("what it deletes may be in production", all)
	case name == "gcloud" && len(operands) > 1 && operands[0].text == "app" && operands[1].text == "deploy" && !local(ws):
		k.never(productionDeploy, all)
	case (verb == "deploy" || verb == "stop-instances" || verb == "update-function-code" || verb == "start-pipeline-execution" || verb == "run" && name == "az") && !local(ws) && !slices.ContainsFunc(ws, func(w word) bool { return w.text != "deploy" && deployStaging.MatchString(w.text) }):
		k.unknown("what it changes may be in production", all)
	case writes && name == "aws" && len(operands) > 0 && slices.Contains([]string{"iam", "route53", "organizations", "kms"}, operands[0].text) && !local(ws):
		k.unknown("what it changes may be in production", all)
	case writes && slices.ContainsFunc(ws[1:], func(w word) bool { return w.many }):
		k.unknown("where it deploys to is hidden in a variable or a substitution", all)
	}
}

// Parts of what is looked for above.
var (
	deployRe0 = lazyregexp.New(`delete-(db|table|cluster)`)
)
