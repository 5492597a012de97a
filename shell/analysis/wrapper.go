package analysis

import (
	"path"
	"slices"
	"strings"
)

// wrapper describes a command that runs another one.
type wrapper struct {
	// options lists the known options as in a manual's synopsis: "-n=" takes a value, "-i" takes
	// none, "-P?" has an optional attached value. After an option that is not listed, the wrapped
	// command is unknown.
	options string
	// operands is the number of operands before the command: 1 for timeout's duration.
	operands int
	// assigns is true if NAME=value may precede the command.
	assigns bool
	// transparent is true if the wrapper only runs the command.
	transparent bool
	// script names the option whose value is a script: "-c". late is true if it may follow the
	// operands, also as "--command".
	script string
	late   bool
	// rest is true if the command's last words come from another source (xargs).
	rest bool
	// operandScript is true if the operands are joined to a script (watch).
	operandScript bool
}

// wrappers lists the commands that run the command in their words. Reviewed against coreutils
// 9.1, util-linux 2.38, findutils 4.9, bash 5.2, sudo 1.9.
var wrappers = map[string]wrapper{
	"env":    {options: "-i -0 -v -u= -C= --ignore-environment --unset= --chdir= --null --debug", assigns: true},
	"nice":   {options: "-n= --adjustment=", transparent: true},
	"nohup":  {},
	"setsid": {options: "-c -f -w --ctty --fork --wait"},
	"stdbuf": {options: "-i= -o= -e= --input= --output= --error="},
	"timeout": {
		options:     "-k= -s= -v --kill-after= --signal= --verbose --preserve-status --foreground",
		operands:    1,
		transparent: true,
	},
	"ionice":  {options: "-c= -n= -t --class= --classdata= --ignore"},
	"chrt":    {options: "-b -f -i -o -r -R -d -v --batch --fifo --idle --other --rr", operands: 1},
	"taskset": {options: "-a -c --all-tasks --cpu-list", operands: 1},
	"time":    {options: "-p -v -a -q -f= -o= --portability --verbose --append --quiet --format= --output="},
	"command": {options: "-p", transparent: true},
	"builtin": {},
	"exec":    {options: "-c -l -a="},
	"sudo": {
		options: "-A -B -b -E -e -H -i -K -k -n -P -S -s -V -C= -D= -g= -h= -p= -R= -r= -T= -t= -U= -u= --user= --group= " +
			"--host= --prompt= --chdir= --non-interactive --preserve-env --login --shell --background --set-home --stdin",
		assigns: true,
	},
	"doas":    {options: "-n -s -L -C= -u=", assigns: true},
	"pkexec":  {options: "--user= --disable-internal-agent --keep-cwd"},
	"runuser": {options: "-u= -g= -G= -l -m -p -c= -s= --user= --group= --login", script: "-c", late: true},
	"su":      {options: "-l -m -p -c= -s= -g= -G= --login --command= --shell=", script: "-c", late: true, operands: 1},
	"chroot":  {options: "--userspec= --groups= --skip-chdir", operands: 1},
	"unshare": {
		options: "-m -u -i -n -p -U -C -T -r -f --mount --uts --ipc --net --pid --user --fork --map-root-user --mount-proc",
	},
	"nsenter":  {options: "-a -t= -m -u -i -n -p -U -C -T --all --target= --mount --uts --ipc --net --pid --user"},
	"strace":   {options: "-f -ff -t -tt -T -v -x -y -c -C -q -r -e= -o= -s= -p= -P= -E= -u="},
	"ltrace":   {options: "-f -c -S -r -t -T -e= -o= -s= -p= -n= -u="},
	"valgrind": {options: "--leak-check= --tool= --error-exitcode= --track-origins= --log-file= --quiet -q -v"},
	"xargs": {
		options: "-0 -o -p -r -t -x -a= -d= -E= -e? -I= -i? -L= -l? -n= -P= -s= --null --arg-file= --delimiter= --eof? " +
			"--replace? --max-lines? --max-args= --max-procs= --max-chars= --no-run-if-empty --interactive --verbose --exit " +
			"--open-tty --process-slot-var=",
		rest: true,
	},
	"parallel": {options: "-j= -k -n= -0 -X -m --jobs= --keep-order --null --bar --halt= --progress", rest: true},
	"watch":    {options: "-b -c -d -e -g -n= -p -t -x --interval= --no-title --differences --exec", operandScript: true},
	"flock": {
		options: "-s -x -e -u -n -o -F -E= -w= -c= --shared --exclusive --unlock --nonblock --close --wait= --timeout= " +
			"--conflict-exit-code= --command=",
		operands: 1,
		script:   "-c",
		late:     true,
	},
	"script": {
		options: "-a -e -f -q -c= -O= -I= -B= -T= -E= -m= -o= --append --return --flush --quiet --command=",
		script:  "-c",
		late:    true,
	},
	"busybox":   {},
	"toybox":    {},
	"xvfb-run":  {options: "-a -n= -s= --auto-servernum --server-num= --server-args="},
	"setarch":   {options: "-R -v --addr-no-randomize", operands: 1},
	"linux32":   {options: "-R -v"},
	"linux64":   {options: "-R -v"},
	"unbuffer":  {options: "-p"},
	"chpst":     {options: "-u= -U= -e= -n= -l= -L= -m= -d= -o= -p= -f= -c= -v -P"},
	"catchsegv": {}, "fakeroot": {options: "-u -i= -s= --"}, "proot": {}, "rlwrap": {}, "eatmydata": {},
	"proxychains": {options: "-q -f="}, "proxychains4": {options: "-q -f="},
	"prlimit": {
		options: "-c? -d? -e? -f? -i? -l? -m? -n? -q? -r? -s? -t? -u? -v? -x? -y? --nofile? --nproc? --as? --core? --cpu? " +
			"--data? --fsize? --memlock? --rss? --stack?",
	},
	"setpriv": {
		options: "--reuid= --regid= --clear-groups --keep-groups --init-groups --groups= --inh-caps= --ambient-caps= " +
			"--bounding-set= --no-new-privs --nnp --pdeathsig= --reset-env",
	},
	"numactl": {
		options: "-m= -N= -C= -i= -p= -l --membind= --cpunodebind= --physcpubind= --interleave= --preferred= --localalloc",
	},
	"systemd-run": {
		options: "-t -P -G -q -u= -p= -E= -d -S --user --system --scope --pty --pipe --wait --collect --quiet --unit= " +
			"--property= --setenv= --uid= --gid= --slice= --working-directory= --same-dir",
	},
	"systemd-inhibit":  {options: "--what= --who= --why= --mode="},
	"dbus-run-session": {options: "--config-file= --dbus-daemon="}, "choom": {options: "-n="},
	"ld.so": {options: "--preload= --library-path= --argv0= --inhibit-cache --inhibit-rpath= --audit= --list --verify"},
	"gosu":  {operands: 1}, "su-exec": {operands: 1}, "setuidgid": {operands: 1},
	"tini": {options: "-s -g -v -w -p= -e="}, "dumb-init": {options: "-c -r= -v --single-child --rewrite= --verbose"},
	"chronic": {options: "-v -e"}, "caffeinate": {options: "-d -i -m -s -u -t= -w="}, "torsocks": {}, "torify": {},
	"entr": {options: "-a -c -d -n -p -r -s -x -z"}, "cgexec": {options: "-g= --sticky"}, "firejail": {}, "bwrap": {},
	// Runners of project tools: a command line follows.
	"npx": {
		options: "-y -n -q --yes --no --quiet --no-install --prefer-offline -p= --package= -c= --call=",
		script:  "-c",
	},
	"bunx": {}, "pnpx": {}, "uvx": {options: "-q -v -p= --from= --with= --python= --quiet --isolated"},
}

// subWrappers maps a command to the sub-commands after which it runs another command.
var subWrappers = map[string]string{
	"uv": "run", "poetry": "run", "pipenv": "run", "rye": "run", "hatch": "run", "pdm": "run", "conda": "run",
	"bundle": "exec", "mise": "exec x", "pnpm": "exec", "yarn": "exec", "npm": "exec x", "direnv": "exec",
	"docker": "exec", "podman": "exec", "perf": "stat record", "pipx": "run",
}

// shells run the script that follows -c.
var shells = map[string]bool{
	"bash":  true,
	"sh":    true,
	"dash":  true,
	"zsh":   true,
	"ksh":   true,
	"mksh":  true,
	"ash":   true,
	"rbash": true,
	"csh":   true,
	"tcsh":  true,
	"fish":  true,
}

// unwrap records the commands that a wrapper call runs.
func (p *reader) unwrap(c *Call) {
	if len(c.Args) < 2 || p.wordsOnly {
		return
	}
	name := c.Name()
	if name == "" {
		return
	}
	if name = strings.ToLower(path.Base(name)); strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") {
		name = "ld.so"
	}
	if len(c.Via) >= maxNested {
		p.doubtAt("wrappers within wrappers, more than are read", c.Offset, c.End)
		return
	}
	switch {
	case shells[name]:
		p.unwrapShell(c, name)
	case name == "find" || name == "fd" || name == "fdfind":
		p.unwrapFind(c, name)
	case name == "eval":
		p.unwrapEval(c)
	case name == "trap":
		p.unwrapTrap(c)
	case name == "git":
		p.unwrapGit(c)
	case slices.Contains(strings.Fields(subWrappers[name]), c.Args[1].Text) && c.Args[1].Known():
		p.unwrapSub(c, name)
	default:
		if w, ok := wrappers[name]; ok {
			p.unwrapCommand(c, name, w)
			return
		}
		p.unwrapCarrier(c, name)
	}
}

// add records a command of a wrapper.
func (p *reader) add(outer *Call, name string, args []Word, assigns []Assign, dirs Dirs) *Call {
	in := &Call{Args: args, Assigns: assigns, Dirs: dirs, Subst: outer.Subst, Piped: outer.Piped,
		Offset: outer.Offset, End: outer.End}
	if p.span < 0 && len(args) > 0 {
		in.Offset, in.End = args[0].Offset, max(outer.End, args[0].Offset)
	}
	in.Via = append(append([]string(nil), outer.Via...), name)
	outer.Wrapped = append(outer.Wrapped, in)
	if p.record(in) {
		p.unwrap(in)
	}
	return in
}

// withInput adds the words that xargs takes from its input.
func (p *reader) withInput(c *Call, name string, args []Word, o options) []Word {
	rest := Word{Kind: Unknown, Source: "…", Offset: c.End, End: c.End}
	if name == "xargs" && len(p.feed) > 0 {
		rest.Kind, rest.pieces = Derived, []piece{{calls: p.feed}}
	}
	args = append(append([]Word(nil), args...), rest)
	if p.replaced(o) {
		args = p.replaceBraces(args, o)
	}
	return args
}

func (p *reader) unwrapCommand(c *Call, name string, w wrapper) {
	o := options{known: w.options, args: c.Args, at: 1, special: func(word string) bool {
		return name == "nice" && len(word) > 1 && word[0] == '-' && strings.Trim(word[1:], "0123456789") == ""
	}}
	if !o.run() {
		if name == "command" && (o.unknown == "-v" || o.unknown == "-V") {
			return // prints the meaning of a name, runs nothing
		}
		if name == "env" && (strings.HasPrefix(o.unknown, "-S") || strings.HasPrefix(o.unknown, "--split-string")) {
			p.envSplit(c, o)
			return
		}
		p.doubtAt(name+" with an option that is not known, so neither is what it runs", c.Offset, c.End)
		p.candidates(c, name, o.at+1)
		return
	}
	if w.script != "" {
		if script, found := o.value(w.script); found {
			p.scriptWord(c, script, name)
			return
		}
	}
	dirs := c.Dirs
	if name == "env" {
		if o.at < len(c.Args) && c.Args[o.at].is("-") { // as -i
			o.at++
		}
		if dir, found := o.value("-C", "--chdir"); found {
			dirs = p.cdTarget(c, []Word{dir})
		}
	}
	at := o.at
	var assigns []Assign
	assigns = append(assigns, c.Assigns...)
	if w.assigns {
		for at < len(c.Args) {
			key, val, found := strings.Cut(c.Args[at].Text, "=")
			if !found || c.Args[at].Kind == Glob {
				break
			}
			value := c.Args[at]
			value.Text = val
			assigns = append(assigns, Assign{Name: key, Value: value, Odd: !isName(key)})
			at++
		}
	}
	for range w.operands {
		if at < len(c.Args) && !c.Args[at].Known() {
			p.doubtAt(name+" with an operand that is not known", c.Offset, c.End)
			return
		}
		at++
	}
	if at >= len(c.Args) {
		return
	}
	if w.late {
		if script, found := scriptOption(c.Args[o.at:], w.script, "--command"); found {
			p.scriptWord(c, script, name)
			return
		}
	}
	if w.operandScript && !o.has("-x") && !o.has("--exec") {
		p.scriptWord(c, joined(c.Args[at:]), name)
		return
	}
	args := c.Args[at:]
	if name == "parallel" && p.unwrapParallel(c, args) {
		return
	}
	if w.rest {
		args = p.withInput(c, name, args, o)
	}
	p.add(c, name, args, assigns, dirs).At = at
	c.Transparent, c.WrappedAt = w.transparent && !w.rest, at
	if name == "env" && at == 1+len(assigns)-len(c.Assigns) && len(c.Wrapped) == 1 {
		c.Transparent = true // env with nothing but assignments
	}
}
