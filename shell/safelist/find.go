package safelist

import "strings"

// findTests maps the words of a find expression that only test or print to the number of their
// values (findutils 4.9 find(1)). It omits the words that run a program, delete or write a
// file.
var findTests = map[string]int{
	"-a": 0, "-and": 0, "-o": 0, "-or": 0, "-not": 0, "!": 0, "(": 0, ")": 0, ",": 0,
	"-daystart": 0, "-depth": 0, "-d": 0, "-follow": 0, "-ignore_readdir_race": 0, "-noignore_readdir_race": 0,
	"-maxdepth": 1, "-mindepth": 1,
	"-mount": 0, "-xdev": 0, "-noleaf": 0, "-nowarn": 0, "-warn": 0, "-regextype": 1,
	"-amin": 1, "-atime": 1, "-cmin": 1, "-ctime": 1, "-mmin": 1, "-mtime": 1, "-used": 1,
	"-empty": 0, "-executable": 0, "-readable": 0, "-writable": 0, "-false": 0, "-true": 0,
	"-fstype": 1, "-gid": 1, "-group": 1, "-uid": 1, "-user": 1, "-nogroup": 0, "-nouser": 0,
	"-ilname": 1, "-lname": 1, "-iname": 1, "-name": 1, "-inum": 1, "-ipath": 1, "-iwholename": 1, "-path": 1,
	"-wholename": 1,
	"-iregex":    1, "-regex": 1, "-links": 1, "-perm": 1, "-size": 1, "-type": 1, "-xtype": 1,
	"-print": 0, "-print0": 0, "-printf": 1, "-ls": 0, "-prune": 0, "-quit": 0,
	"-newer": 1, "-anewer": 1, "-cnewer": 1, "-samefile": 1, "-newermt": 1, "-newerat": 1, "-newerct": 1,
	"-help": 0, "--help": 0, "-version": 0, "--version": 0,
}

var findNever = map[string]string{
	"-ok": "runs a program", "-okdir": "runs a program",
	"-delete": "deletes what it finds", "-fprint": "writes a file", "-fprint0": "writes a file",
	"-fprintf": "writes a file", "-fls": "writes a file",
	"-files0-from": "prints the names in any file",
}

// execEnd returns the index of the operand that ends the command of the -exec at index i.
func (u *Use) execEnd(i int) (end int, why string) {
	ops := u.Operands
	for end = i + 1; end < len(ops); end++ {
		switch {
		case ops[end].Glob:
			return 0, "an unquoted glob in its expression: " + ops[end].Text
		case ops[end].Text == ";" || ops[end].Text == "+" && ops[end-1].Text == "{}":
			u.Runs = append(u.Runs, u.Args[ops[i].Index+1:ops[end].Index])
			return end, ""
		}
	}
	return 0, ops[i].Text + " without its end"
}

func checkFind(u *Use) string {
	ops := u.Operands
	i := 0
	for ; i < len(ops); i++ { // options before the starting points
		switch t := ops[i].Text; t {
		case "-H", "-P":
			continue
		case "-L":
			u.Sandboxed = true
			continue
		case "-O1", "-O2", "-O3":
			continue
		}
		break
	}
	for ; i < len(ops); i++ { // starting points
		t := ops[i].Text
		if strings.HasPrefix(t, "-") && t != "-" || t == "(" || t == "!" || t == ")" || t == "," {
			break
		}
		u.path(t, ops[i].Index, ops[i].Glob)
	}
	if len(u.Paths) == 0 {
		u.path(".", 0, false)
	}
	for ; i < len(ops); i++ {
		t := ops[i].Text
		if ops[i].Glob {
			return "an unquoted glob in its expression: " + u.Args[ops[i].Index].Source
		}
		if t == "-exec" || t == "-execdir" {
			end, why := u.execEnd(i)
			if why != "" {
				return why
			}
			u.Sandboxed, i = true, end
			continue
		}
		n, ok := findTests[t]
		if !ok {
			if why := findNever[t]; why != "" {
				return t + " " + why
			}
			return "the word " + t + " is not one of those that only test or print"
		}
		if i+n >= len(ops) && n > 0 {
			return t + " lacks its value"
		}
		switch t {
		case "-follow":
			u.Sandboxed = true
		case "-newer", "-anewer", "-cnewer", "-samefile":
			u.path(ops[i+1].Text, ops[i+1].Index, ops[i+1].Glob)
		case "-printf":
			if bad, found := escapes(ops[i+1].Text, `nt\0`); found {
				return "the escape " + bad + " may make a control character"
			}
		}
		for range n {
			i++
			if ops[i].Glob {
				return "an unquoted glob in its expression: " + u.Args[ops[i].Index].Source
			}
		}
	}
	return ""
}
