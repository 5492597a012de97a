package supervisor

import (
	"path/filepath"
	"slices"
	"strings"
)

// buildNames are the names of files from which programs run when a person builds, tests or installs, and buildPatterns
// match others (path/filepath).
var (
	buildNames = []string{
		"Makefile", "makefile", "GNUmakefile", "CMakeLists.txt", "meson.build", "configure", "configure.ac",
		"BUILD", "BUILD.bazel", "WORKSPACE", "MODULE.bazel", "justfile", "Justfile", "Taskfile.yml", "Dockerfile",
		"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "deno.json",
		"go.mod", "go.sum", "go.work", "Cargo.toml", "Cargo.lock", "build.rs", "conftest.py", "setup.py", "setup.cfg",
		"pyproject.toml", "tox.ini", "noxfile.py", "poetry.lock", "uv.lock", "Pipfile", "Pipfile.lock", "pom.xml",
		"build.xml", "gradlew", "build.sbt", "Rakefile", "Gemfile", "Gemfile.lock", "composer.json", "composer.lock",
		"mix.exs", "Directory.Build.props",
	}
	buildPatterns = []string{"*.mk", "*.cmake", "*.config.[cm]js", "*.config.[jt]s", "requirements*.txt", "*.gradle",
		"*.gradle.kts", "*.gemspec", "*.csproj", "*.sln"}
)

// buildFiles returns those of the paths, below the root, that have such a name; not those in dependencies' and build
// trees.
func buildFiles(root string, paths []string) (list []string) {
	built := buildTrees(root)
	for _, p := range paths {
		name := filepath.Base(p)
		matches := func(pattern string) bool { ok, _ := filepath.Match(pattern, name); return ok }
		if (slices.Contains(buildNames, name) || slices.ContainsFunc(buildPatterns, matches)) &&
			!built(strings.TrimPrefix(p, root+"/")) {
			list = append(list, p)
		}
	}
	return list
}
