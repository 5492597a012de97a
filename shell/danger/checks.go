package danger

import (
	"slices"
	"strings"

	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// checks maps command names to the check for their dangerous uses.
var checks = map[string]func(*analysis.Call, options) []Finding{
	"rm": rm, "srm": rm,
	"shred": func(*analysis.Call, options) []Finding { return one("erase", "shred destroys a file beyond recovery") },
	"find":  find, "fd": find, "fdfind": find,
	"dd": dd, "chmod": chmod, "chown": chown, "chgrp": chown,
	"wipefs":     always("format", "it erases a device's signatures"),
	"fdisk":      always("format", "it changes a disk's partitions"),
	"sfdisk":     always("format", "it changes a disk's partitions"),
	"cfdisk":     always("format", "it changes a disk's partitions"),
	"sgdisk":     always("format", "it changes a disk's partitions"),
	"gdisk":      always("format", "it changes a disk's partitions"),
	"parted":     always("format", "it changes a disk's partitions"),
	"blkdiscard": always("format", "it discards a device's content"),
	"hdparm":     always("device settings", "it changes a disk's settings"),
	"mkswap":     always("format", "it erases what is on the device"),
	"cryptsetup": always("format", "it changes encrypted devices"),
	"shutdown":   always("power", "it stops the machine"),
	"reboot":     always("power", "it restarts the machine"),
	"halt":       always("power", "it stops the machine"),
	"poweroff":   always("power", "it stops the machine"),
	"init":       always("power", "it changes the run level"),
	"telinit":    always("power", "it changes the run level"),
	"insmod":     always("kernel", "it loads code into the kernel"),
	"modprobe":   always("kernel", "it loads code into the kernel"),
	"rmmod":      always("kernel", "it removes code from the kernel"),
	"sysctl":     sysctl, "mount": always("mounts", "it changes what is mounted"),
	"umount":  always("mounts", "it changes what is mounted"),
	"userdel": always("accounts", "it removes an account"), "deluser": always("accounts", "it removes an account"),
	"groupdel": always("accounts", "it removes a group"), "passwd": always("accounts", "it changes a password"),
	"chpasswd": always("accounts", "it changes passwords"), "visudo": always("accounts", "it changes who may act as root"),
	"usermod": always("accounts", "it changes an account"), "useradd": always("accounts", "it adds an account"),
	"adduser":  always("accounts", "it adds an account"),
	"iptables": always("firewall", "it changes the firewall"), "nft": always("firewall", "it changes the firewall"),
	"ufw":     always("firewall", "it changes the firewall"),
	"crontab": crontab, "kill": kill, "killall": killall, "pkill": killall,
	"mv": mv, "cp": toDevice, "tee": toDevice, "install": toDevice, "ln": toDevice, "rsync": rsync, "truncate": truncate,
	"git": git, "docker": docker, "podman": docker, "kubectl": kubectl, "terraform": terraform, "tofu": terraform,
	"dropdb": always("database", "it removes a database"), "npm": npm, "cargo": publish,
	"twine": always("publish", "it publishes a package"), "gem": publish,
	"sudo": privilege, "su": privilege, "doas": privilege, "pkexec": privilege, "runuser": privilege,
	"systemctl": systemctl, "launchctl": always("services", "it changes services"),
	"chattr":   always("attributes", "it changes what root may do with a file"),
	"diskutil": always("format", "it changes disks"),
}

func always(name, why string) func(*analysis.Call, options) []Finding {
	return func(*analysis.Call, options) []Finding { return one(name, why) }
}

// wide reports whether a change of path affects more than a project's file.
func wide(p string) bool {
	switch t := strings.TrimRight(p, "/*"); t {
	case "", "~", ".", "..", ".git", "./.git", "../..":
		return p != ""
	default:
		if strings.HasPrefix(t, "/") && strings.Count(t, "/") <= 2 && !strings.HasPrefix(t, "/tmp/") {
			return true // /etc, /usr/lib, /home/eve
		}
		return strings.HasPrefix(t, "~") && !strings.Contains(t, "/")
	}
}

func rm(_ *analysis.Call, o options) []Finding {
	switch {
	case o.has("rR", "--recursive"):
		return one("recursive delete", "it deletes directories with all that is in them")
	case o.operand(wide):
		return one("wide delete", "it deletes far more than a project's file")
	case o.unknown:
		return one("recursive delete", "options that are not known may make it delete directories")
	}
	return nil
}

func find(c *analysis.Call, _ options) []Finding {
	for _, w := range c.Args {
		if w.Known() && w.Text == "-delete" {
			return one("recursive delete", "find deletes all that it finds")
		}
	}
	return nil
}

func dd(c *analysis.Call, _ options) []Finding {
	for _, w := range c.Args[1:] {
		if strings.HasPrefix(w.Text, "of=/dev/") && w.Text != "of=/dev/null" && w.Text != "of=/dev/stdout" &&
			w.Text != "of=/dev/stderr" {
			return one("write to a device", "dd overwrites the device "+strings.TrimPrefix(w.Text, "of="))
		}
		if !w.Known() && (w.Text == "" || strings.HasPrefix("of=/dev/", w.Text) || strings.HasPrefix(w.Text, "of=/dev")) {
			return one("write to a device", "where dd writes to is not known")
		}
	}
	return nil
}

func chmod(_ *analysis.Call, o options) []Finding {
	for _, w := range o.operands[:min(2, len(o.operands))] { // the mode is the first or second operand
		if worldWritable(w.Text) {
			return one("mode for everyone", "it lets everyone change the file")
		}
	}
	for _, w := range o.operands {
		if o.has("R", "--recursive") && wide(w.Text) {
			return one("wide change", "it changes the modes of far more than a project's files")
		}
	}
	return nil
}

// worldWritable reports whether a mode of chmod(1) makes a file writable for everyone.
func worldWritable(mode string) bool {
	if mode != "" && strings.Trim(mode, "01234567") == "" && len(mode) >= 3 && len(mode) <= 5 {
		return (mode[len(mode)-1]-'0')&2 != 0
	}
	for clause := range strings.SplitSeq(mode, ",") {
		at := strings.IndexAny(clause, "+=")
		if at < 0 || strings.Trim(clause[:at], "ugoa") != "" {
			continue
		}
		if strings.ContainsAny(clause[:at], "oa") && strings.Contains(clause[at:], "w") {
			return true
		}
	}
	return false
}

func chown(_ *analysis.Call, o options) []Finding {
	if o.has("R", "--recursive") && o.operand(wide) {
		return one("wide change", "it changes the owner of far more than a project's files")
	}
	return nil
}

func sysctl(_ *analysis.Call, o options) []Finding {
	if o.has("wp", "--write", "--load", "--system") || o.operand(func(s string) bool { return strings.Contains(s, "=") }) {
		return one("kernel", "it changes kernel settings")
	}
	return nil
}

func crontab(_ *analysis.Call, o options) []Finding {
	if !o.has("l") {
		return one("scheduled jobs", "it changes what runs by itself later")
	}
	return nil
}

func kill(c *analysis.Call, _ options) []Finding {
	for _, w := range c.Args[1:] {
		if w.Text == "-1" && w.End == c.Args[len(c.Args)-1].End && len(c.Args) > 2 || w.Text == "1" {
			return one("kill everything", "it ends every process it can reach")
		}
	}
	return nil
}

func killall(_ *analysis.Call, o options) []Finding {
	if o.has("u", "--user", "--euid") && len(o.operands) < 2 {
		return one("kill everything", "it ends every process of a user")
	}
	return nil
}

func mv(c *analysis.Call, o options) []Finding {
	if o.operand(func(s string) bool { return s == "/dev/null" }) {
		return one("delete", "moving to /dev/null loses the file")
	}
	if len(o.operands) > 0 && wide(o.operands[0].Text) && strings.HasPrefix(o.operands[0].Text, "/") {
		return one("wide change", "it moves a directory of the system")
	}
	return toDevice(c, o)
}

func toDevice(_ *analysis.Call, o options) []Finding {
	if o.operand(Device) {
		return one("write to a device", "it overwrites a device")
	}
	return nil
}

func rsync(_ *analysis.Call, o options) []Finding {
	for _, l := range o.long {
		if strings.HasPrefix(l, "--del") || l == "--remove-source-files" {
			return one("recursive delete", "rsync "+l+" deletes files")
		}
	}
	return nil
}

func truncate(_ *analysis.Call, o options) []Finding {
	if o.operand(func(s string) bool { return Device(s) || wide(s) }) {
		return one("wide change", "it empties more than a project's file")
	}
	return nil
}

func gitSub(c *analysis.Call) (string, []analysis.Word) {
	sub, at := safelist.GitSubcommand(c.Args)
	if sub == "" {
		return "", nil
	}
	return sub, c.Args[at+1:]
}

func git(c *analysis.Call, _ options) []Finding {
	sub, args := gitSub(c)
	o := read(args)
	switch sub {
	case "push":
		if o.has("fd", "--force", "--force-with-lease", "--delete", "--mirror", "--prune") ||
			o.operand(func(s string) bool { return strings.HasPrefix(s, "+") || strings.HasPrefix(s, ":") && len(s) > 1 }) {
			return one("forced push", "it overwrites or deletes what is on the remote")
		}
	case "reset":
		if o.has("", "--hard", "--merge") {
			return one("lost changes", "git reset --hard throws away changes that were not committed")
		}
	case "clean":
		if o.has("f", "--force") && !o.has("n", "--dry-run") {
			return one("recursive delete", "git clean deletes files that git does not know")
		}
	case "checkout", "restore":
		if o.operand(everything) || sub == "checkout" && o.has("fB", "--force") ||
			sub == "restore" && o.has("S", "--staged") && o.has("W", "--worktree") {
			return one("lost changes", "it throws away changes that were not committed")
		}
	case "switch":
		if o.has("fC", "--force", "--discard-changes", "--force-create") {
			return one("lost changes", "it throws away changes that were not committed")
		}
	case "branch":
		if o.has("D") || o.has("d", "--delete") && o.has("f", "--force") {
			return one("lost changes", "it deletes a branch even if its commits are nowhere else")
		}
	case "filter-branch", "filter-repo":
		return one("rewritten history", "it rewrites every commit")
	case "reflog":
		if o.operand(func(s string) bool { return s == "expire" || s == "delete" }) {
			return one("lost changes", "it removes the way back to old commits")
		}
	case "stash":
		if o.operand(func(s string) bool { return s == "clear" || s == "drop" }) {
			return one("lost changes", "it throws away stashed changes")
		}
	case "update-ref":
		if o.has("d") {
			return one("lost changes", "it deletes a reference")
		}
	case "prune":
		return one("lost changes", "it removes unreachable commits")
	case "gc":
		if slices.ContainsFunc(o.long, func(l string) bool { return strings.HasPrefix(l, "--pr") }) {
			return one("lost changes", "it removes unreachable commits")
		}
	case "rm":
		if o.has("r") && o.has("f", "--force") {
			return one("recursive delete", "it deletes directories with all that is in them")
		}
	}
	return nil
}

// everything reports whether a pathspec of git covers the whole tree, or may do so
// (gitglossary(7), pathspec).
func everything(s string) bool {
	return s == "." || s == "./" || s != "" && strings.Trim(s, "*") == "" || strings.HasPrefix(s, ":/") ||
		strings.HasPrefix(s, ":(") ||
		strings.HasPrefix(s, ":!") ||
		strings.HasPrefix(s, ":^")
}

// verb returns the first operand that is one of a command's known sub-commands. Values of
// options may precede it as words of their own.
func verb(o options, known string) string {
	for _, w := range o.operands {
		if slices.Contains(strings.Fields(known), w.Text) {
			return w.Text
		}
	}
	return ""
}

func docker(c *analysis.Call, o options) []Finding {
	joined := " "
	for _, w := range o.operands {
		joined += w.Text + " "
	}
	switch {
	case strings.Contains(joined, " prune "):
		return one("recursive delete", "it deletes unused images, containers or volumes")
	case strings.Contains(joined, " volume rm "), strings.Contains(joined, " system "):
		return one("recursive delete", "it deletes what containers have stored")
	}
	for i, l := range c.Args {
		if l.Text == "--pid" && i+1 < len(c.Args) && c.Args[i+1].Text == "host" || strings.Contains(l.Text, "src=/,") ||
			strings.Contains(l.Text, "source=/,") {
			return one("host access", "the container gets the run of this machine")
		}
		if l.Text == "--privileged" || strings.HasPrefix(l.Text, "--pid=host") || l.Text == "/:/host" ||
			strings.HasPrefix(l.Text, "/:/") ||
			strings.Contains(l.Text, "docker.sock") {
			return one("host access", "the container gets the run of this machine")
		}
	}
	return nil
}

func kubectl(_ *analysis.Call, o options) []Finding {
	if v := verb(o, "delete drain get describe logs apply create exec edit patch scale rollout config top run expose "+
		"label annotate port-forward cp explain version wait replace debug diff auth"); v == "delete" ||
		v == "drain" {
		return one("cluster", "it removes things from a cluster")
	}
	return nil
}

func terraform(_ *analysis.Call, o options) []Finding {
	if o.operand(func(s string) bool { return s == "destroy" }) ||
		o.operand(func(s string) bool { return s == "apply" }) &&
			(strings.Contains(o.letters, "auto-approve") || o.has("", "--auto-approve")) {
		return one("infrastructure", "it changes or destroys infrastructure unasked")
	}
	return nil
}

func npm(_ *analysis.Call, o options) []Finding {
	if v := verb(o, "publish unpublish run run-script test exec install ci ls view pack link audit"); v == "publish" ||
		v == "unpublish" {
		return one("publish", "it changes what everyone gets from the registry")
	}
	return nil
}

func publish(_ *analysis.Call, o options) []Finding {
	if v := verb(o, "publish push yank build check test run bench doc install add update tree metadata clippy fmt fix "+
		"list search"); v == "publish" ||
		v == "push" ||
		v == "yank" {
		return one("publish", "it changes what everyone gets from the registry")
	}
	return nil
}

func privilege(c *analysis.Call, _ options) []Finding {
	return one("other user", name(c)+" runs it as another user, who may do more")
}

func systemctl(_ *analysis.Call, o options) []Finding {
	if len(o.operands) > 0 {
		switch o.operands[0].Text {
		case "status", "show", "list-units", "list-unit-files", "is-active", "is-enabled", "cat":
			return nil
		}
	}
	return one("services", "it changes services")
}
