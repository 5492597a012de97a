// Command sbom prints a CycloneDX bill of materials of Go programs: sbom VERSION PROGRAM...
//
// It is a module of its own, so that the product does not need its modules.
package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "sbom: want the version and the programs")
		os.Exit(2)
	}
	if err := sbom(os.Stdout, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// external are the distribution's packages that the programs use while they run.
var external = []cdx.Component{
	{Type: cdx.ComponentTypeLibrary, Name: "libseccomp", Scope: cdx.ScopeRequired, Licenses: licence("LGPL-2.1-only")},
	{Type: cdx.ComponentTypeApplication, Name: "bubblewrap", Scope: cdx.ScopeRequired,
		Licenses: licence("LGPL-2.0-or-later")},
}

// sbom writes a CycloneDX bill of materials: every module that the build information of the
// Go programs names, with its licence, and external. It has neither a serial number nor a
// time, so that the same programs have the same bill.
func sbom(w io.Writer, version string, programs []string) error {
	root := cdx.Component{BOMRef: purl("sandboxd", "v"+version), Type: cdx.ComponentTypeApplication, Name: "sandboxd",
		Version: version, PackageURL: purl("sandboxd", "v"+version), Licenses: licence("Apache-2.0")}
	modules := map[string]cdx.Component{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return err
		}
		std := "std@" + strings.TrimPrefix(info.GoVersion, "go")
		modules[std] = cdx.Component{BOMRef: "pkg:golang/" + std, Type: cdx.ComponentTypeLibrary, Name: "std",
			Version: strings.TrimPrefix(info.GoVersion, "go"), PackageURL: "pkg:golang/" + std,
			Licenses: licence("BSD-3-Clause")}
		for _, m := range info.Deps {
			if m.Replace != nil {
				return fmt.Errorf("%s: module %s is replaced; a release is not", program, m.Path)
			}
			key := m.Path + "@" + m.Version
			if _, ok := modules[key]; ok {
				continue
			}
			id, err := licenceOf(m.Path, m.Version)
			if err != nil {
				return err
			}
			modules[key] = cdx.Component{BOMRef: purl(m.Path, m.Version), Type: cdx.ComponentTypeLibrary, Name: m.Path,
				Version: m.Version, Scope: cdx.ScopeRequired, PackageURL: purl(m.Path, m.Version), Licenses: licence(id),
				Properties: &[]cdx.Property{{Name: "go:sum", Value: m.Sum}}}
		}
	}
	var components []cdx.Component
	var refs []string
	for _, key := range sortedKeys(modules) {
		components = append(components, modules[key])
		refs = append(refs, modules[key].BOMRef)
	}
	for _, c := range external {
		c.BOMRef = c.Name
		components = append(components, c)
		refs = append(refs, c.BOMRef)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &root}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: root.BOMRef, Dependencies: &refs}}
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

func sortedKeys(m map[string]cdx.Component) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// purl is a package URL (https://github.com/package-url/purl-spec, type golang).
func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

func licence(id string) *cdx.Licenses { return &cdx.Licenses{{License: &cdx.License{ID: id}}} }

// texts are sentences of licences, the first that matches counts.
var texts = []struct {
	sentence *regexp.Regexp
	id       string
}{
	{regexp.MustCompile(`SPDX-License-Identifier: BSD-3-Clause OR `), "BSD-3-Clause"},
	{regexp.MustCompile(`Mozilla\s+Public\s+License(,|\s+)\s*[Vv]ersion\s+2\.0`), "MPL-2.0"},
	{regexp.MustCompile(`GNU\s+LESSER\s+GENERAL\s+PUBLIC\s+LICENSE\s+Version\s+2\.1`), "LGPL-2.1-only"},
	{regexp.MustCompile(`Apache\s+License,?\s+Version\s+2\.0`), "Apache-2.0"},
	{regexp.MustCompile(`Permission\s+to\s+use,\s+copy,\s+modify,\s+and/?(or)?\s*distribute`), "ISC"},
	{regexp.MustCompile(`(?i)Permission\s+is\s+hereby\s+granted,\s+free\s+of\s+charge`), "MIT"},
	{regexp.MustCompile(`(?s)Redistribution\s+and\s+use\s+in\s+source.*(Neither|names)\s+.*endorse`), "BSD-3-Clause"},
	{regexp.MustCompile(`Redistribution\s+and\s+use\s+in\s+source`), "BSD-2-Clause"},
}

// licenceOf returns the SPDX identifier of a module's licence. A module without a licence
// that texts knows is an error.
func licenceOf(path, version string) (string, error) {
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), escape(path)+"@"+escape(version))
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		base := strings.ToLower(filepath.Base(f))
		if !strings.HasPrefix(base, "licen") && !strings.HasPrefix(base, "copying") {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			continue // a directory of them
		}
		for _, t := range texts {
			if t.sentence.Match(b) {
				return t.id, nil
			}
		}
	}
	return "", fmt.Errorf("module %s %s: %s has no licence that is known; add its text to sbom.go", path, version, dir)
}

// escape is a module's path or version in the module cache: an upper-case letter is "!" and
// the lower-case one (https://go.dev/ref/mod#module-cache).
func escape(s string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(s, func(c string) string { return "!" + strings.ToLower(c) })
}
