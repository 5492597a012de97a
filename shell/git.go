package shell

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"sandboxd/git"
	"sandboxd/shell/analysis"
	"sandboxd/shell/safelist"
)

// gitEnv is the environment of every git command that runs unasked: no locks, no pager, no
// prompts, no fetching of missing objects, no tracing into files.
var gitEnv = map[string]string{
	"GIT_OPTIONAL_LOCKS": "0", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1",
	"GIT_TRACE2": "0", "GIT_TRACE2_EVENT": "0", "GIT_TRACE2_PERF": "0", "GIT_ALLOW_PROTOCOL": "none",
}

// gitUnset lists variables that select another repository, configuration, program or file to write, or another meaning
// of pathspecs and revisions than the one that was judged.
var gitUnset = strings.Fields(`GIT_DIR GIT_WORK_TREE GIT_IMPLICIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY
	GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_NAMESPACE GIT_CEILING_DIRECTORIES
	GIT_DISCOVERY_ACROSS_FILESYSTEM GIT_PREFIX GIT_INTERNAL_SUPER_PREFIX GIT_QUARANTINE_PATH GIT_DEFAULT_HASH
	GIT_REPLACE_REF_BASE GIT_GRAFT_FILE GIT_SHALLOW_FILE GIT_NOTES_REF GIT_NOTES_DISPLAY_REF
	GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS
	XDG_CONFIG_HOME GIT_CONFIG GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM
	GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_SSH GIT_SSH_COMMAND GIT_SSH_VARIANT GIT_ASKPASS
	GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PROXY_COMMAND GIT_ATTR_SOURCE GIT_ATTR_NOSYSTEM GIT_TEST_FSMONITOR
	GIT_TRACE GIT_TRACE_BARE GIT_TRACE_FSMONITOR GIT_TRACE_PACKET GIT_TRACE_PACKFILE GIT_TRACE_PACK_ACCESS
	GIT_TRACE_PERFORMANCE GIT_TRACE_REFS GIT_TRACE_SETUP GIT_TRACE_SHALLOW GIT_TRACE_WORKING_TREE_ENCODING
	GIT_TRACE2_DST_DEBUG GIT_TRACE2_CONFIG_PARAMS GIT_TRACE2_ENV_VARS GIT_TRACE2_PARENT_NAME GIT_TRACE2_PARENT_SID
	GIT_REDIRECT_STDOUT GIT_REDIRECT_STDERR GIT_REDIRECT_STDIN`)

// judgeGit judges the programs that the repository's configuration makes a reading git command
// run.
func (j *judging) judgeGit(dirs analysis.Dirs, use *safelist.Use, to *readerEnv, f *finding) {
	if f.decision != Auto || use.Entry.Name == "git version" {
		return
	}
	if dirs.Unknown || len(dirs.Paths) == 0 {
		f.ask(RiskNormal, "which repository it would look at is not known")
		return
	}
	sub := strings.TrimPrefix(use.Entry.Name, "git ")
	if j.askForCommitted(sub, use, f); f.decision != Auto {
		return
	}
	var drivers []string
	for _, dir := range dirs.Paths {
		if !j.at(dir, false).inside {
			j.verdict.Outside, j.beyond = true, true
			f.ask(RiskNormal, "the repository's configuration can name programs, and "+j.cmd.show(dir)+" is outside the project")
			return
		}
		fact, ok := j.facts.Git[dir]
		switch {
		case !ok:
			j.need(FactGit, dir)
			continue
		case fact.Err != "":
			f.ask(RiskNormal, "the repository's configuration could not be read: "+fact.Err)
			return
		}
		for _, p := range fact.Programs {
			if (len(p.Only) == 0 || slices.Contains(p.Only, sub)) && (!p.Quieted || j.cmd.CallerRuns) {
				f.ask(RiskHigh, fmt.Sprintf("git would run %q (%s in %s)", p.Value, p.Key, j.cmd.show(p.Origin)))
				return
			}
		}
		for _, d := range fact.Drivers {
			if !slices.Contains(drivers, d) {
				drivers = append(drivers, d)
			}
		}
	}
	if j.askForObjects(dirs, sub, use, f); f.decision == Auto {
		gitEnvironment(to, sub, drivers)
	}
}

// gitEnvironment sets variables that disable every remaining program of the configuration.
func gitEnvironment(to *readerEnv, sub string, drivers []string) {
	for k, v := range gitEnv {
		to.put(k, v)
	}
	to.drop(gitUnset...)
	if sub == "config" {
		to.put("GIT_CONFIG_COUNT", "0")
		return // it runs no program, and must show the real configuration
	}
	forced := slices.Clone(git.Forced)
	slices.Sort(drivers)
	for _, d := range drivers {
		switch {
		case strings.HasPrefix(d, "filter."):
			forced = append(
				forced,
				[2]string{d + ".clean", ""},
				[2]string{d + ".smudge", ""},
				[2]string{d + ".process", ""},
				[2]string{d + ".required", "false"},
			)
		case strings.HasPrefix(d, "diff."):
			forced = append(forced, [2]string{d + ".textconv", ""})
		}
	}
	for i, s := range forced {
		n := strconv.Itoa(i)
		to.put("GIT_CONFIG_KEY_"+n, s[0])
		to.put("GIT_CONFIG_VALUE_"+n, s[1])
	}
	to.put("GIT_CONFIG_COUNT", strconv.Itoa(len(forced)))
}

// gitShows lists the sub-commands that accept --no-ext-diff and --no-textconv.
var gitShows = []string{
	"git diff",
	"git log",
	"git show",
	"git whatchanged",
	"git diff-tree",
	"git diff-index",
	"git diff-files",
}

func gitQuiet(use *safelist.Use) []string {
	if !slices.Contains(gitShows, use.Entry.Name) {
		return nil
	}
	var out []string
	for _, o := range []string{"--no-ext-diff", "--no-textconv"} {
		if !use.Has(o) {
			out = append(out, o)
		}
	}
	return out
}

func base(p string) string { return path.Base(p) }
