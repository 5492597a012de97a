package shell

import (
	"path"
	"slices"
	"strings"

	"sandboxd/profile/abspath"
	"sandboxd/shell/analysis"
	"sandboxd/shell/carried"
)

// settings maps a command to the configuration files that it reads by convention, besides its
// scripts. It reads them in its directory and in all directories above it, up to the project's
// root.
var settings = func() map[string][]string {
	out := map[string][]string{}
	for name, files := range map[string]string{
		"npm": `package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs pnpm-workspace.yaml .pnp.cjs`,
		"npx": `package.json .npmrc`,
		"bun": `package.json bunfig.toml .npmrc`, "deno": `deno.json deno.jsonc`,
		"pytest": `conftest.py pytest.ini .pytest.ini pyproject.toml tox.ini setup.cfg sitecustomize.py`,
		"tox":    `tox.ini pyproject.toml setup.cfg setup.py`, "nox": `noxfile.py`,
		"cargo": `Cargo.toml build.rs .cargo/config.toml .cargo/config rust-toolchain.toml rust-toolchain`,
		"go":    `go.mod go.work`,
		"gradle": `build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.properties
			gradle/wrapper/gradle-wrapper.properties init.gradle`,
		"mvn":   `pom.xml .mvn/extensions.xml .mvn/maven.config .mvn/jvm.config`,
		"cmake": `CMakeLists.txt CMakePresets.json CMakeUserPresets.json`, "ninja": `build.ninja`,
		"meson": `meson.build`, "just": `justfile Justfile .justfile .env`, "rake": `Rakefile rakefile Rakefile.rb`,
		"task":   `Taskfile.yml Taskfile.yaml taskfile.yml taskfile.yaml Taskfile.dist.yml`,
		"bundle": `Gemfile .bundle/config`, "poetry": `pyproject.toml poetry.toml`, "uv": `pyproject.toml uv.toml`,
		"hatch": `pyproject.toml hatch.toml`, "pipenv": `Pipfile`, "pdm": `pyproject.toml pdm.toml`,
		"eslint": `eslint.config.js eslint.config.mjs eslint.config.cjs eslint.config.ts .eslintrc.js .eslintrc.cjs
			.eslintrc.json .eslintrc.yml .eslintrc.yaml .eslintrc package.json`,
		"prettier": `.prettierrc .prettierrc.js .prettierrc.cjs .prettierrc.mjs prettier.config.js prettier.config.mjs
			tsconfig.json package.json`,
		"jest": `jest.config.js jest.config.ts jest.config.cjs jest.config.mjs jest.config.json playwright.config.ts
			package.json`,
		"vitest": `vitest.config.ts vitest.config.js vitest.config.mts vite.config.ts vite.config.js vite.config.mts
			package.json`,
		"mocha":   `.mocharc.js .mocharc.cjs .mocharc.json .mocharc.yml .mocharc.yaml package.json`,
		"webpack": `webpack.config.js webpack.config.ts`, "rollup": `rollup.config.js rollup.config.mjs`,
		"docker": `compose.yaml compose.yml docker-compose.yml docker-compose.yaml docker-compose.override.yml
			compose.override.yaml Dockerfile .env`,
		"terraform": `main.tf .terraformrc terraform.tfvars`, "mypy": `mypy.ini .mypy.ini pyproject.toml setup.cfg`,
		"pylint": `.pylintrc pylintrc pyproject.toml setup.cfg`, "flake8": `.flake8 setup.cfg tox.ini`,
		"git": `.gitattributes .pre-commit-config.yaml lefthook.yml .lefthook.yml lefthook-local.yml .lintstagedrc
			.lintstagedrc.json`,
	} {
		out[name] = strings.Fields(files)
	}
	return out
}()

// hooks lists the programs that git runs by name from its directory of hooks (githooks(5)).
var hooks = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg
	commit-msg post-commit pre-rebase post-checkout post-merge pre-push post-rewrite pre-auto-gc reference-transaction
	post-index-change push-to-checkout sendemail-validate fsmonitor-watchman proc-receive update`)

// configFiles returns the absolute paths of the project's configuration files of a call that
// asks, and of the files that its makefiles include.
func (j *judging) configFiles(c *analysis.Call, named []string) []string {
	var out []string
	for _, name := range obeyingNames(c) {
		for _, dir := range j.withParents(c) {
			for _, file := range settings[name] {
				out = append(out, path.Join(dir, file))
			}
		}
		switch name {
		case "git":
			out = append(out, j.hooks(c)...)
		case "make":
			out = append(out, j.includedFiles(c, named)...)
		}
	}
	return out
}

// obeyingNames returns the commands that a call starts by its words: npx eslint is npx and
// eslint, python3 -m pytest is python3 and pytest.
func obeyingNames(c *analysis.Call) []string {
	out := []string{carried.Base(c.Name())}
	for _, a := range c.Args[1:min(len(c.Args), 5)] {
		name := carried.Base(a.Text)
		if _, ok := settings[name]; ok && a.Known() && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// withParents returns the directories in which a call may run, and their parents within the
// project.
func (j *judging) withParents(c *analysis.Call) []string {
	var out []string
	root := path.Clean(j.cmd.project())
	for _, dir := range c.Dirs.Paths {
		for dir = path.Clean(dir); abspath.Contains(root, dir) && !slices.Contains(out, dir); dir = path.Dir(dir) {
			out = append(out, dir)
			if dir == root {
				break
			}
		}
	}
	return out
}

// hooks returns the paths of git's hooks and configuration files.
func (j *judging) hooks(c *analysis.Call) []string {
	var out []string
	for _, dir := range c.Dirs.Paths {
		fact, ok := j.facts.Git[dir]
		if !ok {
			j.needForPayload(FactGit, dir)
			continue
		}
		if fact.Err != "" {
			j.verdict.Unseen = true
		}
		if fact.Dir == "" {
			continue
		}
		for _, name := range []string{"config", "config.worktree", "info/attributes"} {
			out = append(out, path.Join(fact.Dir, name))
		}
		for _, d := range fact.Hooks {
			for _, hook := range hooks { // husky's hooks run those in the directory above
				out = append(out, path.Join(d, hook), path.Join(d, "../"+hook))
			}
		}
	}
	return out
}

// maxIncluded is the maximum number of makefiles that are followed for one call.
const maxIncluded = 200

// includedFiles returns the files that the makefiles of a call include. It omits names with
// variables.
func (j *judging) includedFiles(c *analysis.Call, named []string) []string {
	var queue, out []string
	for _, name := range named {
		paths, _ := c.Dirs.Resolve(name)
		for _, abs := range paths {
			queue = append(queue, path.Clean(abs))
		}
	}
	dirs := slices.Clone(c.Dirs.Paths)
	for _, file := range queue { // make -C DIR
		if dir := path.Dir(file); !slices.Contains(dirs, dir) && slices.Contains(scripts["make"], path.Base(file)) {
			dirs = append(dirs, dir)
		}
	}
	for at := 0; at < len(queue); at++ {
		file := queue[at]
		if !abspath.Contains(j.cmd.project(), file) || !j.facts.Contents[file].Exists {
			continue
		}
		fact, ok := j.facts.Makefiles[file]
		if !ok {
			j.needForPayload(FactMakefile, file)
			continue
		}
		for _, name := range fact.Includes {
			for _, abs := range j.expandName(dirs, name) {
				if slices.Contains(queue, abs) {
					continue
				}
				if len(queue) >= maxIncluded {
					j.verdict.Unseen = true
					return out
				}
				queue, out = append(queue, abs), append(out, abs)
			}
		}
	}
	return out
}

// expandName returns the files that an included name refers to, with globs expanded.
func (j *judging) expandName(dirs []string, name string) []string {
	var out []string
	for _, dir := range dirs {
		abs := name
		if !path.IsAbs(abs) {
			abs = path.Join(dir, name)
		}
		if !strings.ContainsAny(name, "*?[") {
			out = append(out, abs)
			continue
		}
		fact, ok := j.facts.Globs[abs]
		if !ok {
			j.needForPayload(FactGlob, abs)
		}
		out = append(out, fact.Real...)
	}
	return out
}

// needForPayload requests a fact for the payload.
func (j *judging) needForPayload(kind FactKind, name string) {
	j.verdict.NeedsFacts = appendQuery(j.verdict.NeedsFacts, FactQuery{kind, name})
}
