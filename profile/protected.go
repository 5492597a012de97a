package profile

import "slices"

// Class says why a name is protected, and so against which writers.
type Class uint8

const (
	// Executed: programs execute or trust the file without being asked, so that it acts as soon as
	// a person opens the folder. Commands can't write it; the file tool asks twice.
	Executed Class = iota
	// Built: the file acts when a person builds, tests or commits. Package managers and compilers
	// write it, so commands can; the file tool, and a command line that names it, ask twice.
	Built
	// Watched: a setting of a build that names programs or dependencies. Commands can write it; the
	// file tool asks, also where a safe pattern matches.
	Watched
)

// ProtectedGroup is a row of the table of protected names.
type ProtectedGroup struct {
	Class Class
	// By names the programs that execute or trust the files.
	By string
	// Names hold at any depth and for everything below a match; see [Rule].
	Names []string
}

// ProtectedNames returns the built-in protected names of some classes.
func ProtectedNames(classes ...Class) []string {
	var out []string
	for _, g := range Protected() {
		if slices.Contains(classes, g.Class) {
			out = append(out, g.Names...)
		}
	}
	return out
}

// Dependencies returns the names of folders that hold other people's projects, each with its own
// settings of editors, agents and CI. Below them commands may write every name but those that git
// itself executes; see [HeldInDependencies].
func Dependencies() []string {
	return []string{"node_modules", "vendor", ".venv", "venv", "virtualenv"}
}

// HeldInDependencies reports whether a rule by name holds below the folders of [Dependencies],
// too: git's own files, and names that no built-in list has.
func HeldInDependencies(name string) bool { return !othersNames[name] }

var othersNames = func() map[string]bool {
	out := map[string]bool{}
	for _, g := range Protected() {
		for _, name := range g.Names {
			out[name] = g.By != byGit
		}
	}
	return out
}()

const byGit = "git"

// Protected returns the table of the built-in protected names, each in one row.
func Protected() []ProtectedGroup { return slices.Concat(executed(), built()) }

func executed() []ProtectedGroup {
	return []ProtectedGroup{
		{Executed, byGit, []string{
			".git/hooks", ".git/config", ".git/config.worktree", ".git/info/attributes", ".git/commondir",
			".git/modules/*/hooks", ".git/modules/*/config", ".git/modules/*/*/hooks", ".git/modules/*/*/config",
			".git/worktrees/*/config.worktree",
		}},
		{Executed, "version control", []string{
			".gitmodules", ".gitconfig", ".config/git", ".githooks", ".git-hooks", ".hg/hgrc", ".hg/hgrc-not-shared",
			".hg/sharedpath", ".jj/repo/config.toml", ".jj/workspace-config.toml", ".sl/config", ".pijul/config",
			"_darcs/prefs", ".arcconfig", ".reviewboardrc",
		}},
		{Executed, "managers of git's hooks", []string{
			".husky", ".huskyrc*", ".pre-commit-config.*", ".lefthook.*", "lefthook.*", ".lefthook-local.*",
			"lefthook-local.*", "lint-staged.config.*", ".lintstagedrc*", "commitlint.config.*", ".commitlintrc*",
			".simple-git-hooks.*", "simple-git-hooks.*", ".rusty-hook.toml", ".cargo-husky", ".overcommit.yml",
			"captainhook.json", "hk.pkl", "prek.toml",
		}},
		{Executed, "shells, desktops and managers of environments", []string{
			".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
			".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login", ".inputrc", ".config/fish",
			".env*", ".direnv", ".direnvrc", ".mise", ".mise.*", "mise.*", ".config/mise*", "mise/config.toml",
			".tool-versions", ".rvmrc", ".autoenv*", ".shadowenv.d", ".screenrc", ".tmux.conf", ".xprofile", ".xsession",
			".xinitrc", ".config/autostart", ".config/systemd",
		}},
		{Executed, "editors", []string{
			".vscode", ".idea", ".devcontainer", ".devcontainer.json", ".zed", ".fleet", "*.code-workspace", ".helix",
			".exrc", ".vimrc", ".gvimrc", ".lvimrc", ".local.vimrc", ".nvimrc", ".nvim.lua", ".lazy.lua", ".vim", ".nvim",
			"coc-settings.json", ".neoconf.json", ".nlsp-settings", ".emacs", ".dir-locals.el", ".dir-locals-2.el",
			".ycm_extra_conf.py", ".ctags.d", ".gitpod*", ".idx", ".replit", ".vs", ".theia", ".nova",
			".lapce", ".lite_project.lua", ".kateproject*", "*.sublime-project", ".externalToolBuilders",
		}},
		{Executed, "language servers", []string{
			"rust-analyzer.toml", ".rust-analyzer.toml", ".pylintrc*", "pylintrc", "pylintrc.toml", "mypy.ini", ".mypy.ini",
			".flake8", ".lsp", ".bsp", "buildServer.json", ".sourcekit-lsp", "hie.yaml", ".merlin", ".luarc.json",
			".luarc.jsonc", ".factorypath",
		}},
		{Executed, "debuggers and interpreters", []string{
			".gdbinit", ".gdbearlyinit", ".lldbinit", ".Rprofile", ".Renviron", ".RData", ".irbrc", ".pryrc", ".rdbgrc",
			".pdbrc", ".ghci", ".iex.exs", ".erlang", ".octaverc", "sitecustomize.py", "usercustomize.py", "matplotlibrc",
			"ipython_config.py", "jupyter_*config.*",
		}},
		{Executed, "package managers and build tools", []string{
			".npmrc", ".yarnrc", ".yarnrc.yml", ".yarn/plugins", ".yarn/releases", ".pnpmfile.*", "bunfig.toml",
			".bunfig.toml", ".cargo/config", ".cargo/config.toml", ".bazelrc", ".bazelversion", ".buckconfig",
			".mvn/jvm.config", ".mvn/maven.config", ".mvn/extensions.xml", ".pypirc", "ansible.cfg",
		}},
		{Executed, "ssh", []string{".ssh"}},
		{Executed, "agents", []string{
			".mcp.json", "mcp.json", "AGENTS.md", "AGENTS.override.md", "AGENT.md", "CLAUDE.md", "CLAUDE.local.md",
			"GEMINI.md", "QWEN.md", "SKILL.md", "WARP.md", ".agents", ".agent", ".claude", ".claude.json", ".codex",
			".gemini", ".qwen", ".cursor*", ".windsurf*", ".clinerules", ".cline", ".roo*", ".continue", ".aider*",
			".opencode", "opencode.json", "opencode.jsonc", ".crush.json", "crush.json", ".kiro", ".amazonq", ".junie",
			".trae", ".augment*", ".kilocode*", ".goosehints", ".amp", ".cody", ".codebuddy", ".factory", ".iflow",
			".openhands", ".pi", ".rules", ".vibe", ".warp", ".github/copilot-instructions.md", ".github/instructions",
			".github/prompts", ".github/agents", ".github/chatmodes", ".github/hooks", ".github/skills",
		}},
		{Executed, "CI", []string{
			".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".travis.yml", ".drone.*",
			".woodpecker*", "azure-pipelines.*", ".azure-pipelines", "appveyor.yml", ".appveyor.yml", ".cirrus.*",
			".semaphore", ".teamcity", ".tekton", ".builds", ".build.yml", "cloudbuild.yaml", "buildspec.yml", ".ci",
			"Jenkinsfile*", ".buildkite", "bitbucket-pipelines.yml", ".forgejo/workflows", ".gitea/workflows",
		}},
		{Executed, "sandboxd", []string{".sandboxd.toml", ".sandboxd", ".config/sandboxd"}},
	}
}

func built() []ProtectedGroup {
	return []ProtectedGroup{
		{Built, "git, beside the names above", []string{".git", ".gitattributes"}},
		{Built, "make and its kind", []string{
			"Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Rakefile",
		}},
		{Built, "package managers", []string{
			"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock",
			"bun.lockb", ".pnp.*", "Cargo.lock", ".cargo", "go.sum", "poetry.lock", "uv.lock", "Pipfile.lock",
			"Gemfile.lock", "composer.lock", ".mvn",
		}},
		{Built, "compilers, interpreters and test runners", []string{
			"tsconfig.json", "tsconfig.*.json", "jsconfig.json", "conftest.py", "setup.py", "build.rs",
			"rust-toolchain*", "venv", ".venv", "virtualenv",
		}},
		{Watched, "build tools", []string{
			"*.mk", "CMakeLists.txt", "CMakePresets.json", "CMakeUserPresets.json", "Dockerfile", "Containerfile",
			"docker-compose*.yml", "compose.yml", "compose.yaml", "turbo.json", "nx.json", "lerna.json", "rush.json",
			"angular.json", "flake.nix", "flake.lock", "shell.nix", "default.nix", "devbox.json", "devenv.nix",
		}},
		{Watched, "package managers", []string{
			"setup.cfg", "pyproject.toml", "requirements*.txt", "constraints*.txt", "Pipfile*", "Cargo.toml", "go.mod",
			"go.work", "Gemfile*", "composer.json", "build.gradle*", "settings.gradle*", "gradlew", "pom.xml", "mvnw",
			"deno.json", "deno.jsonc",
		}},
		{Watched, "test runners, linters and bundlers", []string{
			"tox.ini", "noxfile.py", "jest.config.*", "vite.config.*", "webpack.config.*", "eslint.config.*",
			".eslintrc*", "babel.config.*", ".babelrc*", ".mocharc*", ".nycrc*", ".prettierrc*", ".stylelintrc*",
			".releaserc*", "nodemon.json", ".editorconfig",
		}},
		{Watched, "services that build what is pushed", []string{"vercel.json", "firebase.json", "renovate.json"}},
	}
}
