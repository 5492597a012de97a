package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"sandboxd/config"
)

// Toolchains are the presets whose caches a project has without them, where it is trusted: an untrusted one could lay
// out what a later command executes.
func Toolchains(root string) []string {
	return config.Toolchains(func(name string) bool {
		_, err := os.Lstat(filepath.Join(root, name))
		return err == nil
	})
}

// toolchains is [Toolchains], looked for again once the project's directory has changed.
func (s *Supervisor) toolchains(root string) []string {
	state := s.Host.DirStates()
	if state == nil || state(root) == 0 {
		return Toolchains(root)
	}
	key := rootState{root, state(root)}
	list, known := s.chains.get(key)
	if !known {
		list = Toolchains(root)
		s.chains.put(key, list)
	}
	return list
}

// rootState is a directory as [sandbox.Host.DirStates] has it.
type rootState struct {
	dir   string
	state uint64
}

// cacheOf is the directory in which the tools of presets keep files between runs in the session's project:
// ~/.cache/sandboxd/NAME-HASH, made where it is missing. Each project has its own, so that no command of another
// project executes its files; and so has each agent with a preset in a project, whose state and
// credentials no other command reads. "" where there is none: a configuration without presets for the
// sandbox and a project without toolchains, a session without a project, a home directory that is not ours, or another
// entry there.
func (s *Supervisor) cacheOf(cfg *config.Config, sess *Session, trusted bool, agent string) string {
	if sess.Root == "" || sess.Home == "" || !ownDir(sess.Home) ||
		agent == "" && !cfg.HasCache() && !(trusted && len(s.toolchains(sess.Root)) > 0) {
		return ""
	}
	dir := cacheDir(sess.Home, sess.Root, agent)
	if ownDir(dir) {
		return dir
	}
	if os.MkdirAll(dir, 0o700) != nil || !ownDir(dir) {
		return ""
	}
	return dir
}

// cacheDir is the path of a project's cache, or of an agent's in it.
func cacheDir(home, root, agent string) string {
	sum := sha256.Sum256([]byte(root))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, filepath.Base(root))
	name = name[:min(len(name), 40)] + "-" + hex.EncodeToString(sum[:6])
	if agent != "" {
		name += "." + agent
	}
	return filepath.Join(RealPath(filepath.Join(home, ".cache", "sandboxd")), name)
}

// ownDir reports whether name is a directory of this user, and no link.
func ownDir(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
