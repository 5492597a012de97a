package shell

import (
	"strings"

	"sandboxd/shell/analysis"
)

// knownReasons maps the first one to three words of common commands to the reason shown in the
// prompt.
var knownReasons = map[string]string{
	"npm install": installs, "npm i": installs, "npm ci": installs, "npm update": installs, "npm exec": installs,
	"yarn add": installs, "yarn install": installs, "pnpm add": installs, "pnpm install": installs, "pnpm i": installs,
	"bun add": installs, "bun install": installs,
	"pip install": installs, "pip3 install": installs, "uv add": installs, "uv sync": installs, "uv pip": installs,
	"poetry install": installs, "poetry add": installs, "pipx install": installs,
	"cargo install": installs, "cargo add": installs, "cargo update": fetches, "go get": fetches, "go install": installs,
	"go mod download": fetches, "gem install": installs, "bundle install": installs, "composer install": installs,
	"apt": system, "apt-get": system, "dnf": system, "yum": system, "pacman": system, "apk": system, "brew": installs,
	"snap": system, "dpkg": system, "rpm": system,
	"curl": network, "wget": network, "ssh": remote, "scp": remote, "sftp": remote, "rsync": remote, "nc": network,
	"ncat": network, "telnet": network, "ping": network, "dig": network, "nslookup": network, "host": network,
	"ftp": network, "gh": network, "glab": network, "aws": network, "gcloud": network, "az": network,
	"git push": "it changes a remote repository", "git pull": fetches, "git fetch": fetches, "git clone": fetches,
	"git ls-remote": network, "git remote": "it changes the repository's remotes",
	"git commit": "it makes a commit; hooks of the repository run",
	"git add":    "it changes what will be committed", "git checkout": "it changes files in the work tree",
	"git switch": "it changes files in the work tree", "git restore": "it changes files in the work tree",
	"git merge": "it changes the branch and its files", "git rebase": "it rewrites commits",
	"git reset": "it moves the branch", "git stash": "it takes changes out of the work tree",
	"git config": "it reads or changes git's configuration, which may name programs",
	"npm test":   project, "npm run": project, "npm start": project, "yarn": project, "pnpm": project, "npx": project,
	"make": project, "go test": project, "go build": "it compiles, with the project's own build steps",
	"go run": project, "go generate": project, "cargo": project, "pytest": project, "tox": project, "cmake": project,
	"ninja": project, "mvn": project, "gradle": project,
	"docker": "it talks to a service that can do anything on this machine", "podman": "it runs containers",
	"kubectl": "it talks to a cluster", "helm": "it talks to a cluster", "systemctl": "it talks to the service manager",
	"rm": "it deletes", "rmdir": "it deletes a directory", "mv": "it moves or overwrites files", "cp": "it writes files",
	"mkdir": "it makes directories", "touch": "it makes files", "ln": "it makes links",
	"tee": "it writes its input to a file", "chmod": "it changes modes", "chown": "it changes owners",
	"truncate": "it empties files", "dd": "it copies raw data", "tar": "it writes files", "unzip": "it writes files",
	"zip": "it writes a file", "patch": "it changes files",
	"kill": "it ends processes", "pkill": "it ends processes", "killall": "it ends processes",
	"env":      "it shows the environment or changes that of a command",
	"printenv": "it shows the environment, which may hold secrets", "set": "it shows or changes the shell's variables",
	"export": "it changes the environment of what follows",
	"xargs":  "it runs a command on words that its input provides", "eval": "it runs text that is made while it runs",
	"source": "it runs a file in this shell", ".": "it runs a file in this shell", "exec": "it replaces the shell",
	"sudo": "it acts as another user", "vim": editor, "vi": editor, "nano": editor, "emacs": editor, "ed": editor,
	"code": editor, "top": editor, "htop": editor,
}

const (
	installs = "it downloads packages and may run their code"
	fetches  = "it downloads from the network"
	system   = "it changes the programs of the system"
	network  = "it uses the network"
	remote   = "it reaches another machine"
	project  = "it runs the project's own code"
	editor   = "it is interactive"
)

// knownReason returns the reason why a command asks, or "".
func knownReason(c *analysis.Call) string {
	var words []string
	for _, a := range c.Args {
		if !a.Known() || len(words) == 3 {
			break
		}
		words = append(words, a.Text)
	}
	if len(words) == 0 {
		return ""
	}
	words[0] = base(words[0])
	for n := len(words); n > 0; n-- {
		if why := knownReasons[strings.Join(words[:n], " ")]; why != "" {
			return why
		}
	}
	switch name := words[0]; {
	case strings.HasPrefix(name, "python") || name == "node" || name == "ruby" || name == "perl" || name == "php" ||
		name == "bash" || name == "sh":
		return "it runs code"
	case strings.HasPrefix(c.Name(), "./"):
		return "it runs a program of the project"
	}
	return ""
}
