package operation

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// remote judges what runs on another machine, or in a container.
func (k *analysis) remote(name string, ws []word, in *source) bool {
	switch name {
	case "ssh", "mosh", "autossh", "sshpass", "plink", "pssh", "parallel-ssh":
		k.ssh(name, ws, in)
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose":
		k.container(name, ws, in)
	case "kubectl", "oc", "k", "k3s", "microk8s", "minikube", "kubectx", "kubens":
		k.kube(ws, in)
	case "vagrant", "lxc", "machinectl", "wsl", "gcloud", "heroku", "fly", "flyctl", "multipass", "limactl", "lima", "colima", "incus", "adb", "railway", "aws":
		k.within(ws, in)
		return false
	default:
		return false
	}
	return true
}

func (k *analysis) ssh(name string, ws []word, in *source) {
	const valued = " -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -H -h "
	at := 1
	for at < len(ws) && (strings.HasPrefix(ws[at].text, "-") || name == "sshpass" && ws[at].text == "ssh") {
		if strings.Contains(valued, " "+ws[at].text+" ") && name != "sshpass" {
			at++
		}
		at++
	}
	for i, w := range ws { // a command that runs here
		v, ok := strings.CutPrefix(w.text, "-o")
		if v == "" && ok && i+1 < len(ws) {
			v = ws[i+1].text
		}
		if key, cmd, found := strings.Cut(v, "="); ok && found && (strings.EqualFold(key, "ProxyCommand") || strings.EqualFold(key, "LocalCommand")) {
			k.evaluate([]word{plain(cmd)}, ws, nil)
		}
	}
	if at >= len(ws) {
		return
	}
	if ws[at].many && ws[at].text == hole && at == len(ws)-1 {
		return // only a host, and who logs in there
	}
	host := ws[at]
	k.aside(func() {
		k.s.away, k.s.dirs = true, []string{hole}
		old := len(k.found)
		rest := ws[at+1:]
		if len(rest) == 0 {
			if in != nil && !in.file {
				k.reads(in, ws)
			}
		} else {
			k.evaluate(rest, ws, in)
		}
		said := joined(rest)
		if len(rest) == 0 && in != nil {
			said = in.text
		}
		if deploysTo(host) && said != "" && len(k.found) == old && !readsText(said) {
			k.never(productionDeploy, ws)
		}
	})
}

// readsText reports whether each command of a text only looks.
func readsText(text string) bool {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '|' || r == '&' || r == '\n' }) {
		fs := strings.Fields(part)
		if len(fs) == 0 {
			continue
		}
		if fs[0] == "sudo" {
			fs = fs[1:]
		}
		if len(fs) == 0 || !slices.Contains(readers(), base(plain(fs[0]))) && !(len(fs) > 1 && readsOnly(base(plain(fs[0])), fieldsOf(fs))) {
			return false
		}
	}
	return true
}

func fieldsOf(fs []string) []word {
	out := make([]word, len(fs))
	for i, f := range fs {
		out[i] = plain(f)
	}
	return out
}

func readers() []string {
	return strings.Fields("ls cat head tail less more grep egrep zgrep uptime df du free ps top htop whoami hostname id uname date who w last env printenv stat file wc journalctl dmesg ip ifconfig ss netstat lsof cd pwd echo test true which ping find sort uniq cut awk sed nproc lsblk vmstat iostat crontab exit tree md5sum sha256sum nginx")
}

// container judges what runs in one: folders of this machine that it has are this machine's.
func (k *analysis) container(name string, ws []word, in *source) {
	if len(ws) < 2 {
		return
	}
	if ws[1].many {
		k.unknown("what it does is hidden in a variable or a substitution", ws)
		return
	}
	_, operands := arguments0(ws, " -H --host --context -c --config -l --log-level -f --file -p --project-name --profile --env-file --project-directory ")
	verb, rest := "", []string{}
	for i, o := range operands {
		if i == 0 {
			verb = o.text
		} else {
			rest = append(rest, o.text)
		}
	}
	production := false
	for i, w := range ws {
		if i > 0 && (ws[i-1].text == "--context" || ws[i-1].text == "-H" || ws[i-1].text == "--host" || ws[i-1].text == "-c" && i == 2) || strings.HasPrefix(w.text, "--context=") || strings.HasPrefix(w.text, "--host=") {
			production = production || deploysTo(w)
		}
	}
	if host, ok := k.s.vars["DOCKER_HOST"]; ok && deploysTo(host[0]) {
		production = true
	}
	if host, ok := k.s.vars["DOCKER_CONTEXT"]; ok && deploysTo(host[0]) {
		production = true
	}
	sub := ""
	if len(rest) > 0 {
		sub = rest[0]
	}
	switch {
	case production && !slices.Contains([]string{"ps", "logs", "inspect", "images", "stats", "top", "version", "info"}, verb) && !(verb == "compose" && slices.Contains([]string{"ps", "logs", "config", "images", "top"}, sub)) && !(verb == "context"):
		k.never(productionDeploy, ws)
		return
	case verb == "push", verb == "image" && sub == "push", verb == "manifest" && sub == "push", verb == "compose" && (sub == "push" || slices.ContainsFunc(ws, func(w word) bool { return w.text == "--push" })), verb == "buildx" && given(ws, "--push"), verb == "build" && slices.ContainsFunc(ws, func(w word) bool { return w.text == "--push" }), verb == "plugin" && sub == "push", verb == "trust" && sub == "sign":
		if dryRun(ws) || slices.ContainsFunc(ws, func(w word) bool { return w.text == "--push=false" }) {
			return
		}
		for _, r := range append([]string{verb}, rest...) {
			if strings.HasPrefix(r, "localhost:") || strings.HasPrefix(r, "127.0.0.1:") || strings.HasPrefix(r, "kind-registry") || strings.HasPrefix(r, "registry.local") {
				return
			}
		}
		k.never(npmPublish, ws)
		return
	case verb == "buildx" && slices.ContainsFunc(ws, func(w word) bool {
		return strings.Contains(w.text, "type=registry") || strings.Contains(w.text, "push=true")
	}):
		k.never(npmPublish, ws)
		return
	case verb == "context" && sub == "use" && len(rest) > 1:
		k.s.vars["DOCKER_CONTEXT"] = []word{plain(rest[1])}
		return
	case takesContainers(name, verb, sub, ws):
		k.unknown("what it takes away may be others', or not come back", ws)
		return
	case (verb == "service" || verb == "node" || verb == "secret" || verb == "config") && sub == "rm" && !local(ws), verb == "swarm" && sub == "leave" && given(ws, "-f --force"):
		k.unknown("what it takes away may be in production", ws)
		return
	case verb == "stack" && (sub == "rm" || sub == "remove" || sub == "down") && !local(ws) && !slices.ContainsFunc(ws, deploysTo):
		k.unknown("what it takes away may be in production", ws)
		return
	case verb == "stack" && (sub == "deploy" || sub == "rm") || verb == "service" && (sub == "update" || sub == "rm" || sub == "scale" || sub == "rollback"):
		if slices.ContainsFunc(ws, deploysTo) {
			k.never(productionDeploy, ws)
		} else if !local(ws) && !slices.ContainsFunc(ws, func(w word) bool { return deployStaging.MatchString(w.text) }) {
			k.unknown("what it changes may be in production", ws)
		}
		return
	}
	k.made("docker", ws, in)
	inner := verb
	start := slices.IndexFunc(ws, func(w word) bool { return w.text == inner && inner != "" })
	if inner == "compose" || inner == "container" || inner == "machine" {
		if len(rest) == 0 {
			return
		}
		inner = rest[0]
		for i := start + 1; i < len(ws); i++ {
			if ws[i].text == inner {
				start = i
				break
			}
		}
	}
	if inner != "run" && inner != "exec" && inner != "create" && inner != "ssh" || start < 0 {
		return
	}
	k.aside(func() { k.contained(ws, start+1, in) })
}

// takesContainers reports whether all containers or images of the machine go, or the volumes of some,
// which do not come back.
func takesContainers(name, verb, sub string, ws []word) bool {
	if i := slices.IndexFunc(ws, func(w word) bool { return w.text == verb }); i >= 0 && strings.HasSuffix(name, "-compose") {
		verb, sub = "compose", verb
	}
	ends := slices.Contains([]string{"rm", "rmi", "stop", "kill", "container", "image", "volume", "pod"}, verb) && sub != "ls" && sub != "ps"
	switch {
	case verb == "compose" && (sub == "down" || sub == "rm"):
		return given(ws, "-v --volumes") && !local(ws)
	case verb == "volume" && slices.Contains([]string{"rm", "remove", "prune"}, sub):
		return !local(ws)
	case verb == "system":
		return sub == "reset" || sub == "prune" && given(ws, "-a --all --volumes")
	case ends && slices.ContainsFunc(ws, func(w word) bool { return strings.HasPrefix(w.text, everyOf) }):
		return true
	}
	ends = ends && (len(ws[1].text) < 5 || sub == "rm") // rm -a, pod rm -a
	return ends && (given(ws[2:], "--all") || name != "docker" && given(ws[2:], "-a"))
}

// noReplicas is a patch after which nothing runs.
var noReplicas = lazyregexp.New(`replicas["']?\s*:\s*0\b`)

// everyOf begins what stands for all containers, images or volumes of this machine.
const everyOf = "every-"

const containerValued = " -v --volume -e --env --name -w --workdir -u --user -p --publish --network --net --mount --entrypoint -h --hostname --env-file --platform -l --label --add-host --cpus -m --memory --shm-size --ulimit --tmpfs --device --cap-add --cap-drop --security-opt --restart --ip --dns --pull --volumes-from --gpus --ipc --pid --log-driver --log-opt --link --expose --cidfile --stop-signal --health-cmd --index "

// contained judges the command within docker run, or docker exec.
func (k *analysis) contained(ws []word, at int, in *source) {
	entry := word{}
	k.s.away = true
	k.s.dirs = []string{"/container"}
	for ; at < len(ws) && strings.HasPrefix(ws[at].text, "-"); at++ {
		text := ws[at].text
		value := word{}
		if _, v, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "--") {
			value = word{v, ws[at].many}
		} else if strings.Contains(containerValued, " "+text+" ") && at+1 < len(ws) {
			at++
			value = ws[at]
		} else if (strings.HasPrefix(text, "-v") || strings.HasPrefix(text, "-e") || strings.HasPrefix(text, "-w")) && len(text) > 2 {
			value = word{text[2:], false}
			text = text[:2]
		}
		switch {
		case text == "-v" || strings.HasPrefix(text, "--volume"):
			k.mount(value)
		case strings.HasPrefix(text, "--mount"):
			from, to := "", ""
			for f := range strings.SplitSeq(value.text, ",") {
				key, v, _ := strings.Cut(f, "=")
				switch key {
				case "source", "src":
					from = v
				case "target", "dst", "destination":
					to = v
				}
			}
			if strings.HasPrefix(from, "/") || strings.HasPrefix(from, home) || strings.HasPrefix(from, hole) {
				k.mount(word{text: from + ":" + to})
			}
		case text == "-w" || strings.HasPrefix(text, "--workdir"):
			k.s.dirs = []string{value.text}
		case strings.HasPrefix(text, "--entrypoint"):
			entry = value
		}
	}
	if at >= len(ws) {
		return
	}
	if ws[at].many && ws[at].text == hole && at+1 < len(ws) && ws[at+1].many {
		return // an image and words of its own
	}
	command := ws[at+1:]
	if entry.text != "" {
		command = append([]word{entry}, command...)
	}
	if len(command) == 0 {
		return
	}
	if hiddenName(command[0]) {
		if len(k.s.mounts) > 0 && command[0].many {
			k.unsure(Run, "what runs there is hidden in a variable or a substitution", ws)
		}
		return
	}
	if strings.HasPrefix(command[0].text, "-") { // words for the program of the image
		return
	}
	k.program(command, in)
}

// mount notes a folder of this machine that a container has.
func (k *analysis) mount(value word) {
	from, rest, ok := strings.Cut(value.text, ":")
	if !ok {
		return
	}
	to, mode, _ := strings.Cut(rest, ":")
	if strings.Contains(mode, "ro") && mode != "" && !strings.Contains(mode, "rw") || to == "" {
		return
	}
	if strings.HasPrefix(from, "/") || strings.HasPrefix(from, home) || strings.HasPrefix(from, ".") || strings.HasPrefix(from, hole) {
		if strings.HasPrefix(from, ".") {
			from = "/" + strings.Join(k.work, "/") + "/" + from
		}
		if to == "/" {
			return
		}
		k.s.mounts[strings.TrimSuffix(to, "/")] = from
	}
}

// within judges a command behind a word such as ssh or exec.
func (k *analysis) within(ws []word, in *source) {
	for i := 1; i < len(ws); i++ {
		switch ws[i].text {
		case "ssh", "exec", "run", "shell", "--", "-c", "--command", "console", "--exec":
			rest := ws[i+1:]
			if len(rest) > 0 && rest[0].text == "--" {
				rest = rest[1:]
			}
			if len(rest) == 0 {
				return
			}
			k.aside(func() {
				k.s.away, k.s.dirs = true, []string{hole}
				for j := range rest {
					if strings.ContainsAny(rest[j].text, " \n") {
						k.certain(rest[j])
					}
					if !hiddenName(rest[j]) && (isRisky(base(rest[j])) || isShell(base(rest[j]))) {
						k.program(rest[j:], in)
						return
					}
				}
			})
			return
		}
	}
}

// kube judges kubectl and its kin: what it changes, and where.
func (k *analysis) kube(ws []word, in *source) {
	_, operands := arguments0(ws, " -n --namespace --context --cluster --kubeconfig -f --filename -l --selector -o --output -c --container --user -s --server --as --token -k --kustomize --image --replicas --type -p --patch --field-selector --timeout --tail --since --from --env ")
	if len(operands) > 0 && (operands[0].text == "kubectl" || base(ws[0]) == "minikube" && operands[0].text == "--") {
		operands = operands[1:]
	}
	if len(operands) == 0 {
		return
	}
	if operands[0].many {
		k.unknown("what it does is hidden in a variable or a substitution", ws)
		return
	}
	verb := strings.ToLower(operands[0].text)
	if strings.HasPrefix(verb, "-") {
		return
	}
	if i := slices.IndexFunc(ws, func(w word) bool { return w.text == "exec" || w.text == "run" || w.text == "debug" }); i > 0 {
		if verb == "exec" || verb == "debug" || verb == "run" {
			before := len(k.found)
			k.within(ws[i-1:], in)
			if dash := slices.IndexFunc(ws, func(w word) bool { return w.text == "--" }); verb == "exec" && dash > 0 && len(k.found) == before {
				if place := kubeProduction(ws[:dash]); place && !readsText(joined(ws[dash+1:])) {
					k.never(productionDeploy, ws)
				}
			}
		}
		return
	}
	if verb == "config" && (strings.HasPrefix(joined(operands), "config use-context") || strings.HasPrefix(joined(operands), "config set-context")) || base(ws[0]) == "kubectx" {
		k.s.prod = slices.ContainsFunc(operands, deploysTo)
		return
	}
	if dryRun(ws) || readsOnly("kubectl", append([]word{plain("kubectl")}, operands...)) {
		return
	}
	sub := ""
	if len(operands) > 1 {
		sub = strings.ToLower(operands[1].text)
	}
	kind, _, _ := strings.Cut(sub, "/")
	big := slices.Contains([]string{"ns", "namespace", "namespaces", "node", "nodes", "no", "pv", "pvc", "persistentvolume", "persistentvolumeclaim", "persistentvolumes", "persistentvolumeclaims", "crd", "crds", "customresourcedefinition", "customresourcedefinitions", "all", "cluster", "statefulset", "statefulsets", "sts", "storageclass", "sc"}, kind)
	switch {
	case kubeProduction(ws) || k.prodNamed("KUBECONFIG") || k.s.prod:
		k.never(productionDeploy, ws)
	case verb == "delete" && (big || slices.ContainsFunc(ws, func(w word) bool { return w.text == "--all" || w.text == "-A" || w.text == "--all-namespaces" })) && !local(ws):
		k.unknown("what it deletes may be in production", ws)
	case verb == "delete" && kind != "" && !slices.Contains([]string{"pod", "pods", "po", "job", "jobs", "event", "events", "replicaset", "rs"}, kind) && !local(ws), verb == "scale" && slices.ContainsFunc(ws, func(w word) bool { return w.text == "--replicas=0" }) && !local(ws),
		verb == "patch" && noReplicas.MatchString(joined(ws)) && !local(ws), verb == "rollout" && sub == "undo" && !local(ws), verb == "adm" && sub == "prune" && given(ws, "--confirm"):
		k.unknown("what it takes away may be in production", ws)
	case (verb == "drain" || verb == "cordon" || verb == "taint" || verb == "replace" && given(ws, "--force")) && !local(ws):
		k.unknown("what it changes may be in production", ws)
	case slices.Contains([]string{"apply", "create", "replace", "patch", "set", "delete", "scale", "rollout", "edit"}, verb):
		for i, w := range ws[1:] {
			if w.holes() && (ws[i].text == "--context" || ws[i].text == "--cluster" || ws[i].text == "--kubeconfig") || strings.HasPrefix(w.text, "--context=") && w.holes() || w.many && i > 0 && strings.HasPrefix(w.text, hole) && verb == "delete" {
				k.unknown("where it deploys to is hidden in a variable or a substitution", ws)
				return
			}
		}
	}
}

// kubeProduction reports whether words name a place of production: any but the name of a file
// that is read.
func kubeProduction(ws []word) bool {
	for _, w := range ws[1:] {
		if deploysTo(w) && !strings.HasPrefix(w.text, "test") {
			return true
		}
	}
	return false
}

func (k *analysis) prodNamed(name string) bool {
	v, ok := k.s.vars[name]
	return ok && deploysTo(v[0])
}

// local reports whether words name a place that is for tests.
func local(ws []word) bool {
	return slices.ContainsFunc(ws[1:], func(w word) bool {
		return !strings.HasPrefix(w.text, "/dev/") && slices.ContainsFunc(tokens(w), func(t string) bool {
			return slices.Contains([]string{"test", "tests", "testing", "dev", "development", "local", "localhost", "kind", "minikube", "sandbox", "ci", "demo", "example", "tmp", "temp", "scratch", "preview", "playground", "e", "localstack", "k3d"}, t) && t != "e"
		})
	})
}
