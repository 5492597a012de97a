package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"sandboxd/profile"
	"sandboxd/profile/abspath"
	"sandboxd/sandbox"
)

// violationUnkept is the kind of a path that a command created in a place that ended with its sandbox.
const violationUnkept = "unkept"

// toolState lists the names below a home directory where programs keep caches, histories and their own state: the loss
// of those changes nothing for the next command.
var toolState = strings.Fields(`.cache .npm .node-gyp .bash_history .zsh_history .python_history .node_repl_history
	.sqlite_history .psql_history .rediscli_history .lesshst .viminfo .wget-hsts .cargo/registry .cargo/git
	.cargo/.package-cache .cargo/.global-cache .rustup .gradle .m2 .ivy2 .sbt .nuget .dotnet .java .yarn .pnpm-store .bun
	.local/state .local/share/pnpm .config/go/telemetry .config/configstore .config/chromium .config/matplotlib .pki
	.ccache .gem .bundle go/pkg .ipython .jupyter .mozilla .dbus .terminfo .matplotlib .keras .nv`)

// reportUnkept puts the paths that were created and not kept into the result (R-LY-08). Temporary files and the state
// of tools that the words of the command do not name are minor.
func (e *Exec) reportUnkept(j *judgement, p *sandbox.Process, r *Result) {
	list, more := p.Unkept()
	for _, k := range list {
		named := slices.ContainsFunc(j.verdict.Paths, func(w string) bool {
			return abspath.Contains(w, k.Path) || abspath.Contains(k.Path, w)
		})
		r.Violations = append(r.Violations, Violation{
			Kind: violationUnkept, Op: "create", Object: k.Path, Count: 1, Minor: !named && expendable(e.Session.Home, k),
			Rule: "the sandbox's own place", By: j.plan.Report.Find(sandbox.ProtectFiles).By,
			Hint: "to keep it: write it in the project, or permit its directory by [sandbox] write",
		})
	}
	if more > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d more paths were created and not kept than are listed", more))
	}
}

// expendable reports whether a path is temporary or a tool's own state in the home directory, or a directory above
// nothing else.
func expendable(home string, k sandbox.Unkept) bool {
	if expendablePath(home, k.Path) {
		return true
	}
	leaf := func(p string) bool {
		return !slices.ContainsFunc(k.Below, func(o string) bool { return o != p && abspath.Contains(p, o) })
	}
	return !k.Cut && len(k.Below) > 0 && !slices.ContainsFunc(k.Below, func(p string) bool {
		return leaf(p) && !expendablePath(home, p)
	})
}

func expendablePath(home, path string) bool {
	if slices.ContainsFunc(profile.PrivateDirs(), func(d string) bool { return abspath.Contains(d, path) }) {
		return true
	}
	return slices.ContainsFunc(toolState, func(name string) bool { return abspath.Contains(home+"/"+name, path) })
}
