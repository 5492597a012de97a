package supervisor

import (
	"fmt"
	"os"

	"sandboxd/profile"
)

// Descriptor is one that the caller passed for a command's own use. Its kind
// was examined when it came: a pipe, /dev/null, or an entry with a Path.
type Descriptor struct {
	File *os.File // the execution's to close once Exec has returned without an error
	Path string   // of a file or a named pipe; "" for a kind without a path
}

// Descriptors stand for a command's standard input, output and error; nil: the
// daemon's own.
type Descriptors struct {
	In, Out, Err *Descriptor
}

func (d Descriptors) each(f func(name string, one *Descriptor) error) error {
	for name, one := range map[string]*Descriptor{"stdin": d.In, "stdout": d.Out, "stderr": d.Err} {
		if one == nil {
			continue
		}
		if err := f(name, one); err != nil {
			return err
		}
	}
	return nil
}

func (d Descriptors) close() {
	d.each(func(_ string, one *Descriptor) error { return one.File.Close() })
}

// uncapped lists the outputs that no limit of ours counts.
func (d Descriptors) uncapped() (names []string) {
	if d.Out != nil {
		names = append(names, "stdout")
	}
	if d.Err != nil {
		names = append(names, "stderr")
	}
	return names
}

// DescriptorError says that a descriptor may not be passed to a command under
// its profile (R-IP-10).
type DescriptorError struct{ Name, Path, Why string }

func (e *DescriptorError) Error() string {
	return fmt.Sprintf("%s can't be passed: %q %s", e.Name, e.Path, e.Why)
}

// permitted checks passed files against a profile. A file must be one that the
// command may read and write, however it was opened: through /proc/self/fd a
// command can open it again, by the mount that the caller opened it on and not by the
// sandbox's read-only one.
func (d Descriptors) permitted(p profile.Profile) error {
	return d.each(func(name string, one *Descriptor) error {
		if one.Path == "" {
			return nil
		}
		for _, op := range []profile.Op{profile.OpRead, profile.OpWrite} {
			switch v := p.Allows(op, one.Path); {
			case !v.Allowed:
				return &DescriptorError{name, one.Path, fmt.Sprintf("may not be opened for %s inside the sandbox: %s", opening[op],
					v.Why)}
			case v.Private:
				return &DescriptorError{name, one.Path, "is another file inside the sandbox, which has its own there"}
			}
		}
		return nil
	})
}

var opening = map[profile.Op]string{profile.OpRead: "reading", profile.OpWrite: "writing"}

// detail is their part of the record.
func (d Descriptors) detail() map[string]string {
	var m map[string]string
	d.each(func(name string, one *Descriptor) error {
		if m == nil {
			m = map[string]string{}
		}
		m[name] = "the caller's own descriptor"
		if one.Path != "" {
			m[name] += " of " + one.Path
		}
		return nil
	})
	return m
}
