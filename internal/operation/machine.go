package operation

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// machine judges what the machine as such is told: to stop, to end what runs on it, to let
// everybody in, to have other users, timers and settings of the kernel.
func (k *analysis) machine(name string, ws []word) {
	_, operands := arguments0(ws, " -s -n -t -p --signal -u -T --table ")
	verb, last := "", ""
	if len(operands) > 0 {
		verb, last = operands[0].lower(), operands[len(operands)-1].lower()
	}
	any := func(list string) bool {
		return slices.ContainsFunc(ws[1:], func(w word) bool { return slices.Contains(strings.Fields(list), w.text) })
	}
	is := func(list string) bool { return slices.Contains(strings.Fields(list), verb) }
	opens, users := false, false
	stops, ends, kernel, known := k.power(name, verb, last, ws, operands, any, is)
	if !known {
		ends, opens, users, kernel = k.keeps(name, verb, last, ws, operands, any, is)
	}
	switch {
	case stops:
		k.unknown("it stops the machine", ws)
	case ends:
		k.unknown("it ends what others need", ws)
	case opens:
		k.unknown("it opens the machine to others, or closes it", ws)
	case users:
		k.unknown("it takes away what the machine's users have", ws)
	case kernel:
		k.unknown("it changes the system under what runs on it", ws)
	}
}

// power judges programs that stop the machine or what runs on it; known is false of others.
func (k *analysis) power(name, verb, last string, ws, operands []word, any, is func(string) bool) (stops, ends, kernel, known bool) {
	switch name {
	case "reboot", "shutdown", "poweroff", "halt", "stop-computer", "restart-computer", "kexec":
		stops = !any("--help --version -c -k -w --wtmp-only -l")
	case "init", "telinit":
		stops = is("0 6 1 s") && len(ws) == 2
	case "systemctl":
		stops = is("reboot poweroff halt kexec soft-reboot suspend hibernate hybrid-sleep rescue emergency isolate exit switch-root")
		ends = is("stop disable mask kill") && !any("--user") && (k.s.away || !devService.MatchString(last)) || is("set-default") && !strings.Contains(last, "graphical") && !strings.Contains(last, "multi-user")
	case "loginctl":
		ends = is("terminate-user terminate-session kill-user kill-session terminate-seat")
	case "pm-suspend", "pm-hibernate", "rtcwake", "gnome-session-quit":
		stops = !any("--help no show")
	case "fuser":
		ends = given(ws[1:], "-k --kill") && slices.ContainsFunc(operands, func(w word) bool { return k.target(w) > private && k.target(w) != device })
	case "stress", "stress-ng":
		kernel = !any("--help --version")
	case "hostname", "hostnamectl":
		kernel = name == "hostname" && len(operands) == 1 && len(ws) == 2 || is("set-hostname hostname") && len(operands) > 1
	case "iptables-restore", "ip6tables-restore", "pivot_root", "losetup", "dmsetup", "vgchange", "lvchange", "tc", "rfkill", "auditctl", "fwupdmgr", "mokutil", "aa-teardown", "grub-install":
		kernel = slices.ContainsFunc(ws[1:], func(w word) bool {
			return slices.Contains(strings.Fields("-m -D remove_all remove wipe_table -an block add del replace install update --reset --import . n"), w.text) || strings.HasPrefix(w.text, "/dev/")
		}) && !any("-f --find --show") || strings.HasSuffix(name, "-restore") && !any("-t --test") || name == "aa-teardown"
	case "kill", "skill":
		ends = name == "skill" && any("-u") || slices.ContainsFunc(operands, func(w word) bool { return strings.HasPrefix(w.text, everyOf) }) || slices.ContainsFunc(ws[1:], func(w word) bool { return w.text == "-1" && w != ws[1] || w.text == "1" }) && !any("-0 -l")
		ends = ends || len(ws) == 3 && ws[1].text == "--" && ws[2].text == "-1"
	case "killall5":
		ends = true
	case "xkill":
		ends = any("-all")
	case "pkill", "killall":
		own := any("-0 -l -L --list --signal=0")
		ends = !own && (any("-v --inverse") || slices.ContainsFunc(operands, func(w word) bool { return systemProcess.MatchString(w.String()) }) ||
			len(operands) == 0 && given(ws[1:], "-u --user -U --euid -t --terminal") && !any("-V"))
		if i := slices.IndexFunc(ws, func(w word) bool { return w.text == "-u" || w.text == "--user" }); i > 0 && i+1 < len(ws) && ws[i+1].text == "root" {
			ends = true
		}
	default:
		return false, false, false, false
	}
	return stops, ends, kernel, true
}

// keeps judges what programs tell the network, the kernel and the list of users.
func (k *analysis) keeps(name, verb, last string, ws, operands []word, any, is func(string) bool) (ends, opens, users, kernel bool) {
	switch name {
	case "useradd", "adduser":
		users = any("-o --non-unique") || strings.Contains(joined(ws), "-u 0")
	case "chsh":
		users = any("-s") && strings.Contains(last+joined(ws), "false") || strings.Contains(joined(ws), "nologin")
	case "iptables", "ip6tables", "iptables-legacy", "ip6tables-legacy", "ebtables", "arptables":
		opens = any("-F --flush -X -Z -P --policy -D --delete") && !any("-L -S")
	case "nft":
		opens = is("flush delete destroy reset")
	case "ufw":
		opens = is("allow") && last == "any" || is("disable reset delete") || is("default") && any("allow")
	case "firewall-cmd":
		opens = any("--panic-on --complete-reload") || strings.Contains(joined(ws), "default-zone=trusted") || slices.ContainsFunc(ws, func(w word) bool {
			return strings.HasPrefix(w.text, "--remove") || strings.HasPrefix(w.text, "--delete")
		})
	case "pfctl":
		opens = any("-d -F")
	case "ip", "route", "ifconfig", "nmcli", "networksetup", "ifdown", "netplan", "resolvectl":
		kernel = name == "ip" && slices.ContainsFunc(operands[:min(len(operands), 3)], func(w word) bool { return slices.Contains(strings.Fields("del delete flush"), w.text) }) && !any("netns") ||
			name == "ip" && is("link l") && last == "down" || name == "ifconfig" && last == "down" && !strings.HasPrefix(verb, "lo") || name == "nmcli" && (any("off down delete disconnect") && !any("show")) || name == "route" && is("del delete flush") || name == "ifdown" || name == "networksetup" && any("off")
	case "sysctl":
		kernel = (any("-w --write") || strings.Contains(joined(ws), "=")) && sysctlBad.MatchString(joined(ws))
	case "tailscale", "wg-quick", "zerotier-cli":
		kernel = is("down logout leave")
	case "service", "rc-service", "supervisorctl", "monit", "invoke-rc.d":
		ends = is("stop shutdown") && name != "service" || (last == "stop" || last == "full-restart") && !devService.MatchString(verb)
	case "swapoff":
		kernel = any("-a --all")
	case "rmmod", "insmod", "setenforce", "kldunload":
		kernel = name != "setenforce" || any("0 Permissive permissive")
	case "modprobe":
		kernel = any("-r --remove")
	case "umount", "fusermount":
		kernel = any("-a --all -A") || slices.ContainsFunc(operands, func(w word) bool {
			p := k.target(w)
			return (!mountable.MatchString(w.text) || len(w.text) == 1) && (p == system || p == wholeHome || p == wholeRoot)
		})
	case "mount":
		kernel = slices.ContainsFunc(ws, func(w word) bool { return remountRO.MatchString(w.text) }) && k.target(plain(last)) > private && last != "/system" || len(operands) > 1 && !k.s.away && slices.ContainsFunc(operands[1:], func(w word) bool {
			p := k.target(w)
			return p == wholeHome || p == private || (p == system || p == wholeRoot) && !mountable.MatchString(w.text) && !any("--make-rprivate")
		})
	case "userdel", "deluser", "groupdel", "delgroup", "dscl":
		users = name != "dscl" || any("-delete . -create")
	case "usermod", "passwd", "chpasswd", "chage", "vipw", "dseditgroup", "gpasswd":
		users = name == "passwd" && any("-d -l --delete --lock root") || name == "gpasswd" && any("-d --delete") || name == "usermod" && any("-L --lock -p -s --expiredate -e") || name == "chpasswd" || name == "chage" && any("-E -M")
	case "crontab":
		users = any("-r /dev/null") && !dryRun(ws)
	case "launchctl":
		ends = is("unload remove bootout disable reboot kill") && !any("--user")
	case "date", "timedatectl", "hwclock":
		kernel = name == "date" && (any("-s") || slices.ContainsFunc(ws, func(w word) bool { return strings.HasPrefix(w.text, "--set") })) || name == "timedatectl" && is("set-time set-ntp") || name == "hwclock" && any("-w --set --systohc")
	case "dpkg", "rpm":
		users = any("--purge -P -e --erase --force-remove-essential --nodeps") && systemPackage.MatchString(joined(operands))
	case "apt", "apt-get", "dnf", "yum", "pacman":
		users = any("purge remove autoremove erase -R -Rns") && systemPackage.MatchString(joined(operands))
	case "bcdedit", "reg", "vssadmin", "wevtutil", "net":
		users = is("delete") || any("/delete /deletevalue cl")
	case "tmutil", "nvram", "csrutil", "spctl":
		users = is("delete disable deletelocalsnapshots") || any("-c --master-disable")
	}
	return ends, opens, users, kernel
}

var (
	devService    = lazyregexp.New(`(?i)^(docker|containerd|mysql|mysqld|mariadb|postgres\w*|redis\S*|mongo\w*|apt-daily\S*|unattended-upgrades|man-db\S*|nginx|apache2|httpd|memcached|rabbitmq\S*|elasticsearch|kubelet|k3s|crio|podman|snapd\S*|test\S*|dev\S*|clickhouse\S*|\S*\$\?\S*|undo-mount-hacks\S*|motd-news\S*|phpsessionclean\S*|e2scrub\S*|logrotate\S*|fstrim\S*|packagekit\S*|multipathd\S*|\S*\.timer)(\.service|\.socket)?$`)
	systemProcess = lazyregexp.New(`(?i)^(|\.\*?|\^|\^?\.\+?|-1|init|systemd\S*|sshd?|dockerd|containerd|xorg|xwayland|gnome-\S*|kwin\S*|plasmashell|finder|dock|systemuiserver|windowserver|loginwindow|launchd|dbus\S*|cron|crond|networkmanager|rsyslogd|login|getty|postgres|mysqld|kubelet|ralph|explorer|svchost|wpa_supplicant|bash|zsh|sh|tmux|screen)$`)
	sysctlBad     = lazyregexp.New(`(?i)panic|sysrq|randomize_va|core_pattern|modules_disabled|pid_max|threads-max|ptrace_scope|yama|protected_|tcp_syncookies|accept_redirects|icmp_echo_ignore_all|ip_local_port_range|ctrl-alt-del`)
	mountable     = lazyregexp.New(`^/(mnt|media|proc|sys|dev|tmp|run|srv|var/www|system|new|original|opt)(/|$)|^/$`)
	systemPackage = lazyregexp.New(`(?i)(^|\s)(linux-image\S*|linux-generic|linux-headers\S*|kernel\S*|grub\S*|systemd\S*|libc6\S*|glibc\S*|coreutils|bash|sudo|openssh-server|login|passwd|util-linux|base-files|dpkg|apt|rpm|dnf|python3|ubuntu-desktop|network-manager|init|udev|e2fsprogs)(\s|$)`)
	remountRO     = lazyregexp.New(`(^|,)ro,.*remount|remount,(.*,)?ro(,|$)`)
	codeStops     = lazyregexp.New(`(?i)\bkill\s*\(\s*(-1|1)\s*,|\bkill\s*\(?\s*['"]?(sig)?(kill|term|9|15)['"]?\s*,\s*-?1\b|tell app\w*\s+"(system events|finder)"\s+to\s+(shut ?down|restart|log ?out|sleep|empty)|ctypes.*\breboot\b|syscall\(?\s*169|linux_reboot_cmd`)
	forkText      = lazyregexp.New(`(?is)\bfork\b[^;}]{0,12}\bwhile\b|\b(while|loop|for|until)\b[^}]{0,60}\bfork\b|\bfork\(\)\s+for\b`)
)

// bomb reports whether a function starts itself beside itself: :(){ :|:& };:
func bomb(f *syntax.FuncDecl) bool {
	if f.Name == nil || f.Body == nil {
		return false
	}
	calls, beside := 0, false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			if len(n.Args) > 0 && n.Args[0].Lit() == f.Name.Value {
				calls++
			}
		case *syntax.Stmt:
			beside = beside || n.Background
		case *syntax.BinaryCmd:
			beside = beside || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		}
		return true
	})
	return calls > 1 && beside || calls > 0 && beside && callsBeside(f)
}

// callsBeside reports whether the call of itself is what runs in the background.
func callsBeside(f *syntax.FuncDecl) bool {
	found := false
	syntax.Walk(f.Body, func(n syntax.Node) bool {
		s, ok := n.(*syntax.Stmt)
		if !ok || !s.Background {
			return true
		}
		syntax.Walk(s, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == f.Name.Value {
				found = true
			}
			return true
		})
		return true
	})
	return found
}

// endless reports whether a loop without end starts one after the other beside itself.
func endless(c *syntax.WhileClause) bool {
	if len(c.Cond) != 1 || c.Until {
		return false
	}
	cond, ok := c.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(cond.Args) == 0 || !slices.Contains([]string{"true", ":", "1"}, cond.Args[0].Lit()) {
		return false
	}
	beside, waits := false, false
	for _, s := range c.Do {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				beside = beside || n.Background
			case *syntax.CallExpr:
				waits = waits || len(n.Args) > 0 && slices.Contains([]string{"sleep", "wait", "read", "inotifywait", "break", "exit", "entr", "fswatch"}, n.Args[0].Lit())
			}
			return true
		})
	}
	return beside && !waits
}

// disk judges programs that make a disk empty.
func (k *analysis) disk(name string, ws []word) bool {
	_, operands := arguments0(ws, " -t -L -U -b -N -O -m -i -T ")
	has := func(list ...string) bool {
		return slices.ContainsFunc(ws[1:], func(w word) bool { return slices.Contains(list, w.lower()) })
	}
	certain := false
	switch {
	case name == "format":
		certain = slices.ContainsFunc(ws[1:], func(w word) bool { return len(w.text) >= 2 && w.text[1] == ':' })
	case name == "format-volume", name == "initialize-disk", name == "clear-disk", name == "remove-partition", name == "diskpart":
		certain = true
	case strings.HasPrefix(name, "mkfs"), slices.Contains([]string{"mke2fs", "mkswap", "mkntfs", "mkdosfs", "mkexfatfs", "newfs", "wipefs", "blkdiscard", "sgdisk", "gdisk", "sfdisk", "fdisk", "cfdisk", "parted", "pvcreate", "pvremove", "vgremove", "lvremove", "vgreduce", "badblocks", "nwipe", "hdparm", "newfs_apfs", "newfs_hfs", "e2label", "partprobe", "growpart", "tune2fs", "e2fsck", "fsck", "xfs_repair", "resize2fs", "debugfs", "btrfstune", "ntfsfix"}, name):
		switch name {
		case "sgdisk", "fdisk", "sfdisk", "parted", "gdisk":
			if has("-l", "--list", "-p", "--print", "print", "-v", "--version", "--dump", "-d") && name != "sgdisk" && (name != "gdisk" || has("-l")) {
				return true
			}
		case "wipefs":
			if !given(ws[1:], "-a --all -o --offset") {
				return true
			}
		case "badblocks":
			if !given(ws[1:], "-w -n") {
				return true
			}
		case "hdparm":
			if !slices.ContainsFunc(ws, func(w word) bool {
				return strings.HasPrefix(w.text, "--security") || strings.HasPrefix(w.text, "--trim") || strings.HasPrefix(w.text, "--write")
			}) {
				return true
			}
		case "partprobe", "e2label", "growpart":
			return true
		}
		if has("--help", "--version", "-v", "-h") && len(ws) == 2 {
			return true
		}
		certain = true
		if len(operands) > 0 && !slices.ContainsFunc(operands, func(w word) bool { return w.holes() || strings.HasPrefix(w.text, "/dev/") && k.target(w) == device }) &&
			!strings.HasPrefix(name, "lv") && !strings.HasPrefix(name, "vg") {
			return true // an image in a file
		}
	case name == "cryptsetup":
		certain = has("luksformat", "erase", "lukserase", "reencrypt", "lukskillslot", "luksremovekey")
	case name == "zpool", name == "zfs":
		certain = has("destroy", "labelclear", "rollback")
	case name == "btrfs":
		certain = has("delete") && has("subvolume", "device")
	case name == "mdadm":
		certain = has("--zero-superblock", "--stop", "--remove", "--create", "-c")
	case name == "nvme":
		certain = has("format", "sanitize", "write-zeroes", "delete-ns")
	case name == "diskutil":
		certain = slices.ContainsFunc(ws[1:], func(w word) bool {
			t := w.lower()
			return strings.HasPrefix(t, "erase") || strings.HasPrefix(t, "partition") || strings.HasPrefix(t, "zero") || strings.HasPrefix(t, "secureerase") || strings.HasPrefix(t, "reformat") || strings.HasPrefix(t, "deletevolume") || strings.HasPrefix(t, "deletecontainer")
		}) || has("apfs") && slices.ContainsFunc(ws, func(w word) bool { return strings.HasPrefix(w.lower(), "delete") })
	case name == "asr":
		certain = has("restore", "--erase")
	case name == "flashrom", name == "fastboot", name == "efibootmgr":
		certain = has("-w", "-e", "erase", "format", "flashall", "-b")
	case name == "cipher":
		certain = slices.ContainsFunc(ws, func(w word) bool { return strings.HasPrefix(w.lower(), "/w") })
	default:
		return false
	}
	if certain {
		k.never(formatDisk, ws)
	} else if name == "format" && slices.ContainsFunc(ws, word.holes) {
		k.unknown("what it formats is hidden in a variable or a substitution", ws)
	}
	return true
}
