package supervisor

import (
	"path/filepath"
	"slices"
)

// buildNames match the names of files from which programs run when a person builds, tests or installs (path/filepath).
var buildNames = []string{
	"Makefile", "makefile", "GNUmakefile", "*.mk", "CMakeLists.txt", "*.cmake", "meson.build", "configure", "configure.ac",
	"BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel", "justfile", "Justfile", "Taskfile.yml", "Dockerfile",
	"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "deno.json",
	"*.config.js", "*.config.cjs", "*.config.mjs", "*.config.ts",
	"go.mod", "go.sum", "go.work", "Cargo.toml", "Cargo.lock", "build.rs", "conftest.py", "setup.py", "setup.cfg",
	"pyproject.toml", "requirements*.txt", "tox.ini", "noxfile.py", "poetry.lock", "uv.lock", "Pipfile", "Pipfile.lock",
	"pom.xml", "build.xml", "*.gradle", "*.gradle.kts", "gradlew", "build.sbt", "Rakefile", "Gemfile", "Gemfile.lock",
	"*.gemspec", "composer.json", "composer.lock", "mix.exs", "*.csproj", "*.sln", "Directory.Build.props",
}

// buildFiles returns those of the paths, below the root, whose names are in buildNames; not those in dependencies' and
// build trees.
func buildFiles(root string, paths []string) (list []string) {
	built := buildTrees(root)
	for _, p := range paths {
		name := filepath.Base(p)
		matches := func(pattern string) bool { ok, _ := filepath.Match(pattern, name); return ok }
		rel, err := filepath.Rel(root, p)
		if err == nil && slices.ContainsFunc(buildNames, matches) && !built(rel) {
			list = append(list, p)
		}
	}
	return list
}
