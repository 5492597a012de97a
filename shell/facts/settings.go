package facts

// GitSetting is one key of a git configuration file: section and name in lower
// case, the subsection as written.
type GitSetting struct {
	Section, Sub, Name string
	Value              string
	// Bare: the key stands alone, without "=", which git takes for true.
	Bare bool
}

// Key returns for example "remote.origin.url".
func (s GitSetting) Key() string {
	return setting{section: s.Section, sub: s.Sub, name: s.Name}.key()
}

// ParseGitConfig reads the text of a git configuration file, without what it
// includes. What git itself would refuse, and what is too odd to be sure of, is
// an error.
func ParseGitConfig(text []byte) ([]GitSetting, error) {
	list, err := parseConfig(text)
	if err != nil {
		return nil, err
	}
	var out []GitSetting
	for _, s := range list {
		out = append(out, GitSetting{s.section, s.sub, s.name, s.value, !s.set})
	}
	return out, nil
}
