// Package document reads and writes profiles as people write them, and derives the profile of a
// session from configuration.
//
// The promise: a document means exactly the result of [Document.Profile], or [Parse] returns file,
// line, column and the correction; printing and parsing are inverse; and [Derive] opens nothing
// that its input does not name, except the system's programs.
//
//	docs := []*document.Document{…}            // of /etc/sandboxd/profile.d
//	ceiling, err := document.Ceiling(docs, here)
//	session, err := document.Derive(document.Tools{Project: "/home/ann/app", Trusted: true, Home: "/home/ann", …})
//	inForce := session.Intersect(ceiling)
//
// # Documents
//
//	base = "everything"              # or "nothing": for all paths without a rule
//	[paths]
//	read    = ["/usr/share"]         # write and exec include read; lists add up
//	write   = ["${project}/out"]
//	exec    = ["/opt/tools"]
//	private = ["/var/cache/build"]   # an empty directory of the sandbox's own
//	protect = ["${project}/**/.git/hooks", "LICENSE"]
//	hide    = ["~/.ssh", "/etc/**/*_key"]
//	sockets = ["/run/postgresql/.s.PGSQL.5432"]
//	devices = ["/dev/kvm"]
//	[network]
//	mode = "loopback"                # none, loopback, full
//	[environment]
//	pass = ["LANG", "LC_*"]
//	block = ["LD_*"]
//	set = { CI = "1" }
//	[limits]
//	wall = "10m"
//	memory = "4GiB"
//	[system]
//	syscalls = ["debug"]
//	processes = "own"
//
// Paths are absolute or begin with ${project}, ${home}, ~ or ${tmp}. In protect and hide,
// "PATH/**/NAME" is a name at any depth below PATH and a bare "NAME" one below ${project}; its
// elements are patterns of path.Match. Package profile has the precedence of rules. Several
// documents are intersected, so a ceiling can be spread over files and none can undo another.
//
// # Derive
//
// A session can read and execute the system ([profile.SystemTrees]) without its secrets, has
// private /tmp and HOME, the project as far as it is trusted, the file tool's roots, and the paths
// of presets. Where any of that shows one of [profile.HomeSecrets], it is hidden, unless
// configuration names exactly that path. [profile.ProtectedNames] hold in every root.
//
// A preset permits writing outside the project only in a cache of the project's own
// ([Tools.Cache]), to which its variables point the tools: a later build outside would execute the
// content of a person's build cache, and so would one of another project. Links there lead to the files that the
// person's own caches have ([Document.Lend]), which stay read-only.
//
// # Limitations
//
// Nothing here reads the host: paths have to be real, and a path of a preset that does not exist is
// left to the mechanisms, which skip it. Toolchains in other places than the common ones have to be
// named in the configuration.
package document

import (
	"fmt"

	"sandboxd/profile"
)

// Document is a profile as written in TOML: a file of
// /etc/sandboxd/profile.d, or a preset.
type Document struct {
	// Base is the rule for all paths without another: "everything" (also when empty), for a ceiling
	// that only forbids, or "nothing", for a document that lists every allowed path.
	Base        string      `toml:"base,omitempty"`
	Description string      `toml:"description,omitempty"`
	Paths       Paths       `toml:"paths"`
	Network     Network     `toml:"network"`
	Environment Environment `toml:"environment"`
	Limits      Limits      `toml:"limits"`
	System      System      `toml:"system"`
	// Lend has directories and files of the person's own caches by their path below ${cache}, where
	// links lead to them; only presets use it. The paths have to be readable by the preset.
	Lend map[string]string `toml:"lend,omitempty"`

	file   string
	text   string
	places map[string]place
}

// Paths is [paths]. Every entry is an absolute path, or begins with ${project}, ${home}, ${tmp} or
// "~/". A path in several of read, write and exec has all their rights; write and exec include
// read. The most specific path counts.
type Paths struct {
	Read  []string `toml:"read,omitempty"`
	Write []string `toml:"write,omitempty"`
	Exec  []string `toml:"exec,omitempty"`
	// Private directories are the sandbox's own; one that is in read, write or exec, too, has only
	// that.
	Private []string `toml:"private,omitempty"`
	// Protect and Hide hold a path, "PATH/**/NAME" for a name at any depth below PATH, or a bare
	// "NAME" for one below ${project}. A protected path that is in read or exec, too, has exactly
	// that; otherwise it has the access around it, without write.
	Protect []string `toml:"protect,omitempty"`
	Hide    []string `toml:"hide,omitempty"`
	// GuardProtect and GuardHide have no effect by themselves but apply in later grants.
	GuardProtect []string `toml:"guard_protect,omitempty"`
	GuardHide    []string `toml:"guard_hide,omitempty"`
	// Devices are paths in /dev, Sockets Unix sockets of the host.
	Devices []string `toml:"devices,omitempty"`
	Sockets []string `toml:"sockets,omitempty"`
}

// Network is [network].
type Network struct {
	// Mode is none, loopback, allowlist or full; empty is the base's. Hosts
	// belong to allowlist: "name:port", "*.name:port" or an address; without a
	// port, every one. Those of a preset are granted only by [network] presets.
	Mode  string   `toml:"mode,omitempty"`
	Hosts []string `toml:"hosts,omitempty"`
	// Listen are TCP ports that may be bound, 0 one that the kernel picks;
	// without the key the base's hold. ListenAny permits all.
	Listen    []uint16 `toml:"listen"`
	ListenAny bool     `toml:"listen_any,omitempty"`
}

// Environment is [environment]; see [profile.Environment].
type Environment struct {
	// Pass replaces the base's list; without the key the base's holds.
	Pass  []string `toml:"pass"`
	Block []string `toml:"block,omitempty"`
	// Set in a preset names places below ${cache}.
	Set     map[string]string `toml:"set,omitempty"`
	Secrets bool              `toml:"secrets,omitempty"`
	// Path holds directories to put in front of PATH; only presets use it.
	Path []string `toml:"path,omitempty"`
}

// Limits is [limits]; 0 or no key is unlimited.
type Limits struct {
	Wall      Duration `toml:"wall,omitzero"`
	CPU       Duration `toml:"cpu,omitzero"`
	Memory    Size     `toml:"memory,omitzero"`
	FileSize  Size     `toml:"file_size,omitzero"`
	TmpSize   Size     `toml:"tmp_size,omitzero"`
	LayerSize Size     `toml:"layer_size,omitzero"`
	Output    Size     `toml:"output,omitzero"`
	Processes int      `toml:"processes,omitzero"`
	OpenFiles int      `toml:"open_files,omitzero"`
}

// System is [system].
type System struct {
	// Syscalls are groups granted besides the ordinary ones; without the key
	// the base's.
	Syscalls []string `toml:"syscalls"`
	// Processes is "own" or "host"; empty is the base's.
	Processes string `toml:"processes,omitempty"`
}

// Variables are the values of ${project}, ${home} and ${tmp}: real, absolute
// paths. A document that uses one that is empty is an error.
type Variables struct {
	Project string
	Home    string
	Tmp     string
	// Resolve returns the targets of paths. nil: every path is real.
	Resolve Resolve
}

// Resolve returns the real path of an absolute, clean path, and whether a symbolic link on the way
// is loose: in a place where commands can change it. Nothing is granted through a loose link.
type Resolve func(path string) (real string, loose bool)

// Profile returns the profile that the document describes.
func (d *Document) Profile(v Variables) (profile.Profile, error) {
	spec, err := d.spec(v)
	if err != nil {
		return profile.Profile{}, err
	}
	p, err := profile.New(spec)
	if err != nil {
		return profile.Profile{}, fmt.Errorf("profile document %s: %w", d.file, err)
	}
	return p, nil
}

// Ceiling returns the intersection of all documents; without any, everything.
func Ceiling(docs []*Document, v Variables) (profile.Profile, error) {
	p := profile.Everything()
	for _, d := range docs {
		q, err := d.Profile(v)
		if err != nil {
			return profile.Profile{}, err
		}
		p = p.Intersect(q)
	}
	return p, nil
}
