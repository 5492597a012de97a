package main

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// end is a class of how a verb ends when it does not succeed.
type end struct {
	status int
	text   string
}

// ends are all of them. Help and manual pages show those of each verb, and
// testdata/script has a script for each, by these names.
var ends = map[string]end{
	"usage":    {exitOwn, "the command line is wrong"},
	"daemon":   {exitOwn, "no daemon answers and none can be started, or its sockets are not safe to use"},
	"unknown":  {exitOwn, "nothing has that id or name"},
	"invalid":  {exitOwn, "what was given can't be used: a file, a directory, a value, the configuration"},
	"stale":    {exitOwn, "the request has changed or is decided"},
	"terminal": {exitOwn, "there is no terminal to ask at"},
	"gone":     {exitOwn, "the daemon left while it ran"},
	"stays":    {exitOwn, "the daemon has not left in time"},
	"no":       {exitNo, "the answer is no"},
	"guard":    {2, "the call is refused: its agent must not make it"},
	"timeout":  {exitTimeout, "the command took too long"},
	"refused":  {exitDenied, "denied by a person or a rule, or nobody answered in time"},
	"self":     {exitDenied, "the requester can't answer, and can't raise its own rights"},
	"confirm":  {exitDenied, "a second yes is missing (--confirm)"},
	"absent":   {exitNotFound, "there is no such command"},
	"signal":   {128, "plus n: signal n ended the command"},
	"own":      {-1, "the command's own"},
}

// endsOf are the ends of each verb, by its path; a text behind "=" is its
// meaning there.
var endsOf = map[string]string{
	"run":         "own|usage|daemon|unknown|invalid|gone|timeout|refused|absent|signal",
	"shell":       "own|usage|daemon|invalid|gone|timeout|refused|signal",
	"file read":   fileEnds,
	"file ls":     fileEnds,
	"file stat":   fileEnds,
	"file grep":   "usage|daemon|unknown|no=nothing matches, or the pattern or the place cannot be used|refused",
	"file write":  changeEnds,
	"file edit":   changeEnds,
	"file append": changeEnds,
	"file insert": changeEnds,
	"file delete": fileEnds,
	"file move":   fileEnds,
	"file copy":   fileEnds,
	"file mkdir":  fileEnds,
	"file rmdir":  fileEnds,
	"undo":        "usage|daemon|no=there is nothing to undo, or it has changed since|refused",
	"check": "usage|daemon|invalid|no=with --exit-code: a person would be asked|refused=with --exit-code: it " +
		"would be denied",
	"approve": "usage|daemon|unknown|invalid=the scope, the grant or the lifetime is not on " +
		"offer|stale|terminal|self|confirm",
	"pending":      "usage|daemon|unknown|stale",
	"changes":      "usage|daemon",
	"changes show": "usage|daemon|no=there is no such change set",
	"changes land": "usage|daemon|no=there is no such change set, or a path has changed since|refused",
	"changes drop": "usage|daemon|no=there is no such change set|refused",
	"grants ls":    "usage|daemon",
	"grants rm":    "usage|daemon|unknown",
	"grants why":   "usage|daemon|unknown",
	"mode":         "usage|daemon|unknown|invalid|self",
	"trust": "usage|daemon|unknown=the directory was not trusted|invalid|self=a program with a session there " +
		"can't trust it",
	"session ls":      "usage|daemon",
	"jobs":            "usage|daemon",
	"jobs log":        "usage|daemon|unknown",
	"jobs stop":       "usage|daemon|unknown",
	"session open":    "usage|daemon|invalid",
	"session resume":  "usage|daemon|unknown",
	"session close":   "usage|daemon|unknown",
	"profile show":    "usage|daemon|unknown",
	"profile explain": "usage|daemon|unknown",
	"profile diff":    "usage|daemon|unknown",
	"web":             "usage|daemon|invalid=the gateway is off",
	"web add":         "usage|daemon|invalid",
	"web ls":          "usage|daemon|invalid=the gateway is off",
	"web rm":          "usage|daemon|unknown",
	"log":             "usage|daemon",
	"log verify":      "usage|invalid=there is no log, or no such anchors|no=the log is not as it was written",
	"log anchor":      "usage|invalid=there is no log, or the file can't be written|no=the log is not as it was written",
	"log export": "usage|daemon|invalid=the file is there already, or can't be written|no=it is written, without " +
		"lines that are not as they were written",
	"stats":           "usage|daemon",
	"advise":          "usage|daemon|invalid=no such proposal, or the configuration can't be changed",
	"status":          "usage|daemon",
	"doctor":          "usage|daemon|no=something does not hold",
	"mcp":             "usage",
	"mcp wrap":        "own|usage|daemon|invalid|gone|refused|absent|signal",
	"acp":             "own|usage|daemon|gone|refused|absent|signal",
	"hook claude":     "guard",
	"hook codex":      "guard",
	"hook copilot":    "guard",
	"hook gemini":     "guard",
	"hook opencode":   "guard",
	"hook pi":         "guard",
	"hook qwen":       "guard",
	"hook cline":      "guard",
	"hook cursor":     "guard",
	"hook vscode":     "guard",
	"hook auto":       "guard",
	"hook install":    "usage|invalid",
	"hook ls":         "usage",
	"rules import":    "usage|invalid",
	"preset ls":       "usage|daemon",
	"preset add":      "usage|unknown|invalid",
	"preset rm":       "usage|unknown|invalid",
	"allow":           "usage|daemon|invalid|self=a program with a session can't change what its commands may do",
	"config get":      "usage|daemon|invalid",
	"config set":      "usage|daemon|invalid|self=a program with a session can't change it",
	"config unset":    "usage|daemon|invalid|self=a program with a session can't change it",
	"config check":    "usage|no=the configuration has a mistake",
	"config show":     "usage|no=the configuration has a mistake",
	"config schema":   "usage",
	"config reload":   "usage|daemon|invalid",
	"completion bash": "usage",
	"completion fish": "usage",
	"completion zsh":  "usage",
	"stop":            "usage|daemon|stays",
	"version":         "usage",
	"gen man":         "usage|invalid",
}

const (
	fileEnds   = "usage|daemon|unknown|no=it is not there, is there already, or has changed|refused"
	changeEnds = fileEnds + "|invalid"
)

// common are the exit statuses that sbx help lists for all verbs.
var common = []end{
	{0, "done"},
	{exitNo, "the answer is no: nothing found, changed since, does not hold"},
	{exitTimeout, "the command took too long"},
	{exitOwn, "sbx failed: command line, configuration, daemon"},
	{exitDenied, "denied by a person or a rule, or nobody answered in time"},
	{exitNotFound, "there is no such command"},
}

// endings are the exit statuses of c, one a row and in ascending order.
func endings(c *cobra.Command) (list []end) {
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	switch {
	case !c.HasParent():
		return common
	case endsOf[path] == "":
		return nil
	case !strings.HasPrefix(endsOf[path], "own|"):
		list = append(list, common[0])
	}
	for _, name := range strings.Split(endsOf[path], "|") {
		name, text, _ := strings.Cut(name, "=")
		e := end{ends[name].status, first(text, ends[name].text)}
		if i := slices.IndexFunc(list, func(other end) bool { return other.status == e.status }); i >= 0 {
			list[i].text += "; " + e.text
			continue
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(x, y end) int { return cmp.Compare(x.status, y.status) })
	return list
}

// name is e's status as help and manual pages have it.
func (e end) name() string {
	if e.status < 0 {
		return "n"
	}
	return strconv.Itoa(e.status)
}
