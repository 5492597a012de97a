package layer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// drawLinks returns names of files that have three names each, the script that makes them, and the script that makes a
// file of its own under each name instead. At most one name of a file is below a directory, as mv copies a directory
// of the root with the hard links in it.
func drawLinks(t *rapid.T) (names []Name, linked, apart []step) {
	for i := range rapid.IntRange(0, 2).Draw(t, "linked") {
		file := func(path Name) []step {
			return []step{
				{Do: "create", Path: path, Data: fmt.Sprint("linked ", i), Mode: 0o640},
				{Do: "xattr", Path: path, Data: "x"},
				{Do: "utimes", Path: path, Time: 1_400_000_000_000_000_000},
			}
		}
		all := []Name{Name(fmt.Sprint("l", i)), Name(fmt.Sprint("m", i)), Name(fmt.Sprintf("n%d/l", i))}
		dir := step{Do: "mkdir", Path: Name(fmt.Sprint("n", i)), Mode: 0o755}
		linked, apart = append(linked, dir), append(apart, dir)
		for k, path := range all {
			apart = append(apart, file(path)...)
			if k == 0 {
				linked = append(linked, file(path)...)
			} else {
				linked = append(linked, step{Do: "link", Path: all[0], To: path})
			}
		}
		names = append(names, all...)
	}
	return names, linked, apart
}

// aim has a part of the steps work on the names.
func aim(t *rapid.T, script []step, names []Name) {
	if len(names) == 0 {
		return
	}
	for i := range script {
		if rapid.IntRange(0, 2).Draw(t, "aimed") == 0 {
			script[i].Path = rapid.SampledFrom(names).Draw(t, "name")
		}
	}
}

// fileOf splits the text of a snapshot about a file around the name of the file.
func fileOf(text string) (looks, name, content string) {
	looks, rest, found := strings.Cut(text, " is ")
	if !found {
		return text, "", ""
	}
	at := strings.LastIndexByte(rest, ' ')
	return looks, rest[:at], rest[at:]
}

// groups returns the names of each file of a snapshot.
func groups(s map[string]string) map[string][]string {
	out := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, file, _ := fileOf(s[name]); file != "" {
			out[file] = append(out[file], name)
		}
	}
	return out
}

// sameFiles returns a snapshot with the first name of each file in the order of strings. Where another snapshot has
// several names for one file, it is one file here, too.
func sameFiles(s, other map[string]string) map[string]string {
	first := map[string]string{}
	for file, names := range groups(s) {
		first[file] = names[0]
	}
	for _, names := range groups(other) {
		var files []string
		for _, name := range names {
			if _, file, _ := fileOf(s[name]); file != "" {
				files = append(files, first[file])
			}
		}
		for file, name := range first {
			if slices.Contains(files, name) {
				first[file] = slices.Min(files)
			}
		}
	}
	out := map[string]string{}
	for name, text := range s {
		if looks, file, content := fileOf(text); file != "" {
			text = looks + " is " + first[file] + content
		}
		out[name] = text
	}
	return out
}

// untouched returns the part of a snapshot of the root that the change set leaves alone.
func (b *bench) untouched(before map[string]string) map[string]string {
	out := maps.Clone(before)
	for _, op := range b.Set().Ops {
		for _, n := range op.Old {
			delete(out, string(join(op.Path, n.Path)))
		}
	}
	return out
}

// unreported lists the changed files whose other names keep the file from before, without a word in the change set.
func (b *bench) unreported(before map[string]string) (list []Name) {
	kept := groups(b.untouched(before))
	for _, op := range b.Set().Ops {
		if len(op.New) == 0 || op.New[0].Kind != File {
			continue
		}
		_, file, _ := fileOf(before[string(op.Path)])
		reported := slices.ContainsFunc(b.Set().Altered, func(n Note) bool { return n.Path == op.Path })
		if len(kept[file]) > 0 && !reported {
			list = append(list, op.Path)
		}
	}
	return list
}
