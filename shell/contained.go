package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
	"sandboxd/shell/analysis"
	"sandboxd/shell/danger"
	"sandboxd/shell/safelist"
)

// remoteCommands lists the commands whose effects are not files of the project: services, remotes,
// other machines, other users, the system. By sub-command where only that one is.
var remoteCommands = strings.Fields(`docker podman nerdctl kubectl helm systemctl service systemd-run launchctl sudo
	doas su pkexec runuser ssh scp sftp rsync gh glab aws gcloud az terraform tofu pulumi ansible ansible-playbook vercel
	netlify heroku flyctl wrangler firebase twine crontab at batch mail sendmail mount umount apt apt-get dnf yum pacman
	apk snap dpkg rpm brew sg np release-it semantic-release goreleaser vsce ovsx docker-compose podman-compose cdk
	serverless sls sst gsutil bq vault nomad consul oc eksctl helmfile skaffold argocd doctl hcloud s3cmd rclone lftp ftp
	mosh ssh-copy-id mailx mutt neomutt msmtp swaks hub fly railway supabase eas fastlane sam packer vagrant surge
	git-push git-send-email git-send-pack
	git-http-push git-imap-send git-cvsexportcommit`)

// remoteWords lists such sub-commands that may follow options or be a part of a word with colons. Any of the words of
// a command is taken for one.
var remoteWords = map[string]string{
	"npm pnpm yarn yarnpkg bun deno jsr": "publish unpublish deprecate access owner token login dist-tag " +
		"dist-tags",
	"poetry uv flit hatch pdm rye maturin dart flutter changeset lerna": "publish upload",
	"cargo": "publish yank owner login release", "gem": "push yank owner", "rake": "release", "nx": "release publish",
	"mvn mvnw mvnd": "deploy perform", "gradle gradlew": "publish publishPlugins uploadArchives", "lein": "deploy",
	"sbt": "publish publishSigned", "mix": "hex.publish hex.retire", "dotnet nuget": "push delete", "pod": "push",
	"conan anaconda luarocks cabal stack": "upload", "hg": "push email", "jj bzr sl": "push", "fossil": "push sync",
	"darcs": "push send", "svn": "commit ci import lock unlock", "git-lfs git-subtree": "push",
	"git-svn": "dcommit set-tree commit-diff branch tag", "git-p4": "submit", "git-annex": "push sync assist copy move",
}

// remotes finds the sub-commands of remoteWords by their program.
var remotes = byProgram(remoteWords)

// byProgram splits a table of sub-commands by programs, both in words.
func byProgram(table map[string]string) map[string][]string {
	out := map[string][]string{}
	for programs, words := range table {
		for _, name := range strings.Fields(programs) {
			out[name] = strings.Fields(words)
		}
	}
	return out
}

// recoverable lists the sub-commands of git whose losses a snapshot of the project has.
var recoverable = []string{"reset", "checkout", "restore", "switch", "branch"}

// builtTrees lists the directories that builds and package managers make again.
var builtTrees = strings.Fields(`node_modules target build dist out __pycache__ .pytest_cache .mypy_cache .ruff_cache
	.tox .next .nuxt .cache .venv venv coverage htmlcov .nyc_output .gradle tmp`)

// builtFiles lists the patterns of files that builds make again.
var builtFiles = strings.Fields(`*.pyc *.pyo *.o *.a *.so *.tmp *.log *.bak *.orig *.rej *.swp *~
	.DS_Store __pycache__`)

// maxUnaskedDeletes is how many files a glob of rm may match, as many as a landing may delete unasked
// where nothing is configured.
const maxUnaskedDeletes = 50

// contained reports whether all effects that a line asks for are on files of the project, as far
// as its words show: such a line needs no question where its run can be undone, unless it names
// protected paths or deletes trees, which only a landing asks about, or names files of credentials. What it touches
// besides, the sandbox refuses.
func (j *judging) contained() bool {
	v := &j.verdict
	if v.Decision != Ask || v.Network == "full" || j.beyond ||
		j.blocking > blockCredential || j.cmd.CallerRuns || j.tooMany || j.script.Cut || len(v.NeedsFacts) > 0 ||
		len(j.script.Calls) == 0 {
		return false
	}
	for name, value := range j.cmd.Env {
		if !envHarmless(name, value) {
			return false
		}
	}
	for _, d := range j.script.Doubts {
		if d.Deceptive || d.Unread {
			return false
		}
	}
	return !j.verdict.Objects && !slices.ContainsFunc(j.script.Calls, j.reachesOut)
}

// objects reports whether what the configuration asks about or denies is, or may be, in the line.
func (j *judging) objects() bool {
	limited := func(f finding) bool { return f.decision != Auto && f.by == ByLimit }
	return j.verdict.Configured || j.verdict.Hidden || slices.ContainsFunc(j.findings, limited) || j.tool.restricts() &&
		(j.tooMany || j.script.Cut || len(j.script.Doubts) > 0 || slices.ContainsFunc(j.script.Calls, j.carriesCode))
}

// reachesOut reports whether a command's effects are elsewhere than in files, or its words may
// delete more than single files.
func (j *judging) reachesOut(c *analysis.Call) bool {
	name := base(c.Name())
	for _, words := range spelled(c) {
		if sendsAway(base(words[0].Text), words) {
			return true
		}
	}
	if j.calls[c] != nil && j.calls[c].sends {
		return true
	}
	if !danger.Deletes(c) || name == "find" || j.deletesFound(c) {
		return false // find is judged with the dangers
	}
	return slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
		list, known := texts(w)
		return !known && !j.fewMatches(c, w) && !j.globBelow(c, w) && !(j.landed && j.matchesBelow(c, w)) ||
			slices.ContainsFunc(list, func(text string) bool { return j.projectItself(c, text) })
	})
}

// sendsAway reports whether a program with these words, its own name first, is one of remoteCommands, or has a
// sub-command of remoteWords before "--".
func sendsAway(name string, words []analysis.Word) bool {
	if name = unversioned(name); slices.Contains(remoteCommands, name) {
		return len(words) != 2 || !slices.Contains([]string{"--version", "--help", "-V"}, words[1].Text)
	}
	if at := started(name, words); at > 0 {
		return sendsAway(packageName(words[at].Text), words[at:])
	}
	if sub, at := safelist.GitSubcommand(words); name == "git" && sub != "" {
		return sendsAway("git-"+sub, words[at:])
	}
	for i, w := range words {
		switch {
		case i == 0:
		case w.Text == "--":
			return false
		case strings.HasPrefix(name, "python") && module.MatchString(w.Text):
			if _, joined, _ := strings.Cut(w.Text, "m"); joined != "" {
				return sendsAway(joined, words[i:])
			}
			return i+1 < len(words) && sendsAway(words[i+1].Text, words[i+1:])
		case slices.ContainsFunc(strings.Split(w.Text, ":"), func(word string) bool {
			return slices.ContainsFunc(subcommandNames(name, word), func(own string) bool {
				return slices.Contains(remotes[name], own)
			})
		}):
			return true
		}
	}
	return false
}

// texts returns the values that a word can have. known is false where the line does not say all of them.
func texts(w analysis.Word) (list []string, known bool) {
	if w.Kind == analysis.Derived && assigned(w, 0) {
		return values(w, 0)
	}
	return []string{w.Text}, w.Known()
}

// assigned reports whether a word has nothing but text and variables to which the line assigns nothing but such words.
func assigned(w analysis.Word, depth int) bool {
	return depth < maxDerived && !slices.ContainsFunc(w.Parts(), func(p analysis.Part) bool {
		if p.Var == nil {
			return p.Process || len(p.Calls) > 0
		}
		return !p.Var.Complete() || slices.ContainsFunc(p.Var.Words, func(v analysis.Word) bool {
			if v.Kind == analysis.Derived {
				return !assigned(v, depth+1)
			}
			return !v.Fixed() || !p.Quoted && strings.ContainsAny(v.Text, " \t\n*?[")
		})
	})
}

// projectItself reports whether a word is the project, a directory above it, or git's own.
func (j *judging) projectItself(c *analysis.Call, word string) bool {
	paths, ok := c.Dirs.Resolve(word)
	return !ok || slices.ContainsFunc(paths, func(p string) bool {
		p = path.Clean(p)
		return abspath.Contains(p, j.cmd.project()) || strings.Contains(p+"/", "/.git/")
	})
}

// containedDanger reports whether a danger is the loss of files that a snapshot of the project
// has, or that are made again.
func (j *judging) containedDanger(c *analysis.Call, name string) bool {
	if !c.Literal() || len(c.Via) > 0 {
		return false
	}
	switch name {
	case "lost changes":
		sub, _ := safelist.GitSubcommand(c.Args)
		return base(c.Name()) == "git" && slices.Contains(recoverable, sub)
	case "recursive delete":
		switch base(c.Name()) {
		case "rm":
			return j.deletesBuilt(c)
		case "find":
			return findsBuilt(c)
		}
	}
	return false
}

// landedDanger reports whether a danger is the loss of files in the project, which its words name, or which find or
// another reader of the line finds there.
func (j *judging) landedDanger(c *analysis.Call, name string) bool {
	program := base(c.Name())
	if len(c.Via) > 0 || !j.literalOrBelow(c) {
		return name == "recursive delete" && j.deletesFound(c)
	}
	switch {
	case name == "lost changes":
		return program == "git"
	case name != "recursive delete":
		return false
	case program == "git":
		sub, _ := safelist.GitSubcommand(c.Args)
		return slices.Contains([]string{"clean", "rm"}, sub)
	}
	return (program == "rm" || program == "find") && j.operandsInside(c)
}

// globBelow reports whether a word is a glob in a directory of the project below its own, and not in git's.
func (j *judging) globBelow(c *analysis.Call, w analysis.Word) bool {
	dir := path.Dir(w.Text)
	return w.Kind == analysis.Glob && !strings.ContainsAny(dir, "*?[{") && j.inProject(c, dir) && !j.projectItself(c, dir)
}

// inProject reports whether a word names a place in the project.
func (j *judging) inProject(c *analysis.Call, word string) bool {
	paths, ok := c.Dirs.Resolve(word)
	return ok && !slices.ContainsFunc(paths, func(p string) bool {
		return !abspath.Contains(j.cmd.project(), path.Clean(p))
	})
}

// literalOrBelow reports whether the words of a call are known, such globs, or globs that match in the project only.
func (j *judging) literalOrBelow(c *analysis.Call) bool {
	return len(c.Assigns) == 0 && c.Args[0].Kind == analysis.Literal &&
		!slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
			_, known := texts(w)
			return !known && !j.globBelow(c, w) && !j.matchesBelow(c, w)
		})
}

// matchesBelow reports whether a word is a glob of some kind of names whose matches are known, and are places in the
// project below it and outside git's directory.
func (j *judging) matchesBelow(c *analysis.Call, w analysis.Word) bool {
	if w.Kind != analysis.Glob || strings.Trim(path.Base(w.Text), "*?.") == "" {
		return false
	}
	paths, ok := c.Dirs.Resolve(w.Text)
	return ok && !slices.ContainsFunc(paths, func(p string) bool {
		matches, known := j.matches(p)
		return !known || slices.ContainsFunc(matches, func(real string) bool {
			return !j.inProject(c, real) || j.projectItself(c, real)
		})
	})
}

// operandsInside reports whether all known words of a call that are no options name places in the project.
func (j *judging) operandsInside(c *analysis.Call) bool {
	return !slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
		list, known := texts(w)
		return known && slices.ContainsFunc(list, func(text string) bool {
			return !strings.HasPrefix(text, "-") && !j.inProject(c, text)
		})
	})
}

// deletesFound reports whether a call is rm by find or xargs, whose operands are what is found in the project.
func (j *judging) deletesFound(c *analysis.Call) bool {
	if base(c.Name()) != "rm" || len(c.Via) != 1 || !j.operandsInside(c) {
		return false
	}
	open := 0
	for _, w := range c.Args[1:] {
		if w.Kind == analysis.Literal {
			if !strings.HasPrefix(w.Text, "-") && j.projectItself(c, w.Text) {
				return false
			}
			continue
		}
		if open++; open > 1 || c.Via[0] == "xargs" && !j.foundInside(w) {
			return false
		}
	}
	switch c.Via[0] {
	case "xargs":
		return true
	case "find":
		at := slices.IndexFunc(j.script.Calls, func(o *analysis.Call) bool { return slices.Contains(o.Wrapped, c) })
		return at >= 0 && j.findsInside(j.script.Calls[at])
	}
	return false
}

// foundInside reports whether the values of a word are names that readers of the line find in the project.
func (j *judging) foundInside(w analysis.Word) bool {
	parts := w.Parts()
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p analysis.Part) bool {
		return p.Var != nil || p.Process || p.Text != "" || len(p.Calls) == 0 || !j.namesOnly(p.Calls) ||
			slices.ContainsFunc(p.Calls, func(c *analysis.Call) bool { return !j.findsInside(c) })
	})
}

// findsInside reports whether a reader's words are known, and name nothing outside the project.
func (j *judging) findsInside(c *analysis.Call) bool {
	return c.Literal() && len(c.Via) == 0 && j.operandsInside(c)
}

// fewMatches reports whether a word is a glob of some kind of names, and matches no more files than may be deleted
// unasked.
func (j *judging) fewMatches(c *analysis.Call, w analysis.Word) bool {
	if w.Kind != analysis.Glob || strings.Trim(path.Base(w.Text), "*?.") == "" {
		return false
	}
	paths, ok := c.Dirs.Resolve(w.Text)
	return ok && !slices.ContainsFunc(paths, func(p string) bool {
		matches, known := j.matches(p)
		return !known || len(matches) > maxUnaskedDeletes
	})
}

// deletesBuilt reports whether rm removes nothing but what builds make again, and build files, which are single files.
func (j *judging) deletesBuilt(c *analysis.Call) bool {
	return !slices.ContainsFunc(c.Args[1:], func(w analysis.Word) bool {
		return !strings.HasPrefix(w.Text, "-") && (!inBuiltTree(w.Text) &&
			!j.buildFile(c, w.Text) || j.projectItself(c, w.Text))
	})
}

// inBuiltTree reports whether a relative path is, or is in, a tree that builds make again.
func inBuiltTree(name string) bool {
	parts := strings.Split(path.Clean(name), "/")
	if path.IsAbs(name) {
		parts = parts[len(parts)-1:]
	}
	return slices.ContainsFunc(parts, func(s string) bool { return slices.Contains(builtTrees, s) })
}

// buildFile reports whether a word is a build file of the project, such as package-lock.json.
func (j *judging) buildFile(c *analysis.Call, word string) bool {
	paths, ok := c.Dirs.Resolve(word)
	return ok && !slices.ContainsFunc(paths, func(p string) bool {
		protected, held := j.tool.places.protects(j.at(p, false), j.cmd)
		return protected == "" || held
	})
}

// findsBuilt reports whether find deletes nothing but files that builds make again.
func findsBuilt(c *analysis.Call) bool {
	named := false
	for i, w := range c.Args {
		switch w.Text {
		case "-o", "-or", ",", "!", "-not":
			return false
		case "-name":
			named = i+1 < len(c.Args) && slices.Contains(builtFiles, c.Args[i+1].Text)
		}
	}
	return named
}
