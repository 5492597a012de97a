package safelist

import (
	"slices"
	"strings"
)

// checkTee permits the one file that keeps nothing, and the streams that the command has.
func checkTee(u *Use) string {
	own := []string{"/dev/null", "/dev/stderr", "/dev/stdout"}
	if !slices.Contains(own, u.Operands[0].Text) || u.Operands[0].Glob {
		return "it writes its input to a file"
	}
	return ""
}

// checkPushd permits the form that changes to a directory; the others turn the stack of directories.
func checkPushd(u *Use) string {
	if len(u.Operands) == 1 && strings.HasPrefix(u.Operands[0].Text, "+") {
		return "it turns the stack of directories"
	}
	return checkCD(u)
}

// checkSyntax permits reading a script without running it, besides the version.
func checkSyntax(u *Use) string {
	option := func(op Operand) bool { return strings.HasPrefix(op.Text, "-") || strings.HasPrefix(op.Text, "+") }
	if len(u.Operands) != 2 || u.Operands[0].Text != "-n" || option(u.Operands[1]) {
		return checkVersion(u)
	}
	u.path(u.Operands[1].Text, u.Operands[1].Index, false)
	return ""
}

// checkGoEnv permits printing. Go asks the compiler for its options, which is gcc where no variable says otherwise.
func checkGoEnv(u *Use) string {
	u.Sandboxed = true // it reads the person's settings of go
	return ""
}

// checkLoads is for ldd, by which the dynamic loader reads the libraries that a program names.
func checkLoads(u *Use) string {
	u.Sandboxed = true
	return ""
}

// terminalNames are the capabilities that tput prints and that neither run a program nor write to a printer, as those
// of init and reset may (terminfo(5): iprog, if, mc5).
var terminalNames = strings.Fields(`cols lines colors longname bold dim smul rmul smso rmso rev blink sgr0 sitm ritm
	setaf setab op clear el ed cr cuu1 cud1 civis cnorm bel hpa vpa`)

// checkTput permits the capabilities of terminalNames with numbers as their parameters.
func checkTput(u *Use) string {
	if len(u.Operands) == 0 || !slices.Contains(terminalNames, u.Operands[0].Text) {
		return "only what asks for a size or a colour is on the safe list"
	}
	for _, op := range u.Operands[1:] {
		if !digits(op.Text) {
			return "the parameter " + op.Text + " is not a number"
		}
	}
	return ""
}

// checkIP permits showing addresses, links, routes and neighbours.
func checkIP(u *Use) string {
	words := u.Operands
	for len(words) > 0 && slices.Contains(
		strings.Fields("-4 -6 -br -brief -c -color -d -details -j -json -o -oneline -p -pretty -s"), words[0].Text) {
		words = words[1:]
	}
	objects := strings.Fields("a addr address l link r route n neigh rule")
	if len(words) == 0 || !slices.Contains(objects, words[0].Text) {
		return "only showing addresses, links and routes is on the safe list"
	}
	words = words[1:]
	if len(words) > 0 && slices.Contains([]string{"show", "list", "ls", "s"}, words[0].Text) {
		words = words[1:]
		if len(words) > 1 && words[0].Text == "dev" {
			words = words[1:]
		}
		words = words[min(1, len(words)):] // the device
	}
	if len(words) > 0 {
		return "the word " + words[0].Text + " is not one that only shows"
	}
	return ""
}

// checkGetent permits the databases that are files of the system. Names of hosts are sent to a name server.
func checkGetent(u *Use) string {
	if len(u.Operands) == 0 {
		return "it needs a database"
	}
	switch name := u.Operands[0].Text; {
	case slices.Contains(strings.Fields("passwd group services protocols networks rpc ethers"), name) &&
		!slices.ContainsFunc(u.Operands[1:], func(op Operand) bool { return strings.HasPrefix(op.Text, "-") }):
		return ""
	case name == "hosts" && (len(u.Operands) == 1 || len(u.Operands) == 2 && u.Operands[1].Text == "localhost"):
		return ""
	}
	return "only the system's own files are on the safe list"
}
