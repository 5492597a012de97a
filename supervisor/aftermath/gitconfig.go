package aftermath

import (
	"slices"

	"sandboxd/git"
)

// configWhy returns why a changed configuration of the repository at repo, in the tree at root, does not stay as it is;
// "" where every change is known to be harmless.
func configWhy(before, after []byte, repo, root string) string {
	switch keys, err := configChange(before, after, repo, root); {
	case err != nil:
		return "it can't be understood: " + err.Error()
	case len(keys) > 0:
		return "it may name programs: " + some(keys)
	}
	return ""
}

// configChange returns the changed settings of a configuration that are not known to be
// harmless; none: ordinary work.
func configChange(before, after []byte, repo, root string) ([]string, error) {
	now, err := git.ParseConfig(after)
	if err != nil {
		return nil, err
	}
	was, err := git.ParseConfig(before)
	if err != nil {
		return nil, err
	}
	// Later settings win, so the order of those that matter must not change.
	keep := func(list []git.Setting) []git.Setting {
		return slices.DeleteFunc(list, func(s git.Setting) bool { return git.MayChange(s, repo, root) })
	}
	now, was = keep(now), keep(was)
	if slices.Equal(now, was) {
		return nil, nil
	}
	var keys []string
	for _, s := range now {
		if !slices.Contains(was, s) {
			keys = append(keys, s.Key())
		}
	}
	for _, s := range was {
		if !slices.Contains(now, s) {
			keys = append(keys, s.Key())
		}
	}
	if keys == nil {
		keys = []string{"the order of settings"}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// cleanConfig leaves the harmless settings of a new repository; taken are the
// keys of the others.
func cleanConfig(text []byte, repo, root string) (clean []byte, taken []string, err error) {
	list, err := git.ParseConfig(text)
	if err != nil {
		return nil, nil, err
	}
	var kept []git.Setting
	for _, s := range list {
		if git.MayChange(s, repo, root) {
			kept = append(kept, s)
		} else {
			taken = append(taken, s.Key())
		}
	}
	slices.Sort(taken)
	return git.FormatConfig(kept), slices.Compact(taken), nil
}
