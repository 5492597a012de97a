package layer

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// mutation takes a rule of layers out of the code: its test must fail then.
type mutation struct {
	rule           int
	pkg, test      string
	file, old, new string
}

// mutations is the table of the rules of layers with their tests. `make layers-mutations` compiles each test with its
// mutation, and wants it to fail.
//
//	 1  an inode that a command could write never becomes an inode of the root
//	 2  a file that is open for writing outside is a conflict, a database one unit; late writes are reported
//	 3  a conflict is a change since the stamp, at the path, above it, below a removed one; displaced inodes are checked
//	 4  git's own locks are held, a git directory is one unit, undo restores no reference without its object
//	 5  a displaced file with other hard links may change after the landing: undo sees that
//	 6  root and layer are under one mount
//	 7  a parent that moved meanwhile has the landing taken back
//	 8  recovery overwrites no later edit, and finds on the disk what the journal says
//	 9  what a command on a layer leaves running ends before its one landing
//	10  what was opened and not written is no change; a full disk is named, and nothing of the set lands
//	11  the layer is closed, the root's looks stay, set-user-ID bits and marks of overlays do not land, times come last
//	12  the index of git that landed knows the files as they landed
//	13  a file with several hard links lands under the written name alone, and this is reported
//	14  a layer above held ones lands after them, and never once one was dropped; what landed is the root's
//	15  a result names what another run landed beside the run; references land only over what they were made from
//	16  git and package managers wait for the run before, whose locks a layer does not share
//	16  a conflict at a path that git ignores holds that path, or the topmost ignored directory, alone
//	17  FIFOs and sockets are named and do not land, and are masked for readers
//	18  owners that a sandbox can't name need a direct run
//	19  mounts below the root need a direct run
//	20  a root on an overlay needs a direct run
//	21  a command with more than the session's base grants has a place of its own
//	22  what is mapped or open for writing, or changed within 20 ms of a snapshot, is read again for the next one
var mutations = []mutation{
	{1, "layer", "TestDescriptorOfADeadRun", "layer/copy_linux.go",
		"src, err := openLoose(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0o400)",
		"if unix.Linkat(dir, name, c.into, to, 0) == nil {\nreturn c.dress(to, s)\n}\n" +
			"src, err := openLoose(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0o400)"},
	{2, "layer", "TestOpenForWriting", "layer/check_linux.go", "if err == unix.EAGAIN {", "if err == unix.EPERM {"},
	{2, "layer", "TestDatabaseIsOneUnit", "layer/layer_linux.go", `[]Name{"-wal", "-shm", "-journal"}`, "[]Name{}"},
	{2, "layer", "TestLateWrite", "layer/layer_linux.go",
		`op.Old, 0, true); reason != "" || err != nil {`, `op.Old, 0, true); reason != "" && err != nil {`},
	{2, "layer", "TestWriterAtEachCall", "layer/check_linux.go", "kind != unix.F_RDLCK", "kind == -1"},
	{2, "layer", "TestWriterAtEachCall", "layer/move_linux.go",
		"m.leased() && (l.move(", "before == nil && m.leased() && (l.move("},
	{2, "layer", "TestWriterAtEachCall", "layer/move_linux.go", "cause == errLeased {", "cause == nil {"},
	{3, "layer", "TestConflicts", "layer/take_linux.go", "if n.CTime >= t.set.Stamp {", "if n.CTime < 0 {"},
	{3, "layer", "TestConflicts", "layer/take_linux.go",
		"case parent.CTime >= t.set.Stamp && (replaces ||", "case parent.CTime >= t.set.Stamp && (parent.CTime < 0 ||"},
	{3, "layer", "TestConflicts", "layer/take_linux.go", "if was.MTime < t.set.Stamp {", "if was.MTime < 0 {"},
	{3, "layer", "TestConflicts", "layer/take_linux.go",
		"int64(st.Btime.Nsec) >= t.set.Stamp", "int64(st.Btime.Nsec) < 0"},
	{3, "layer", "TestConflicts", "layer/take_linux.go", "case !was.sameMetadata(now):", "case parent.CTime < 0:"},
	{3, "layer", "TestChangesBeside", "layer/take_linux.go", "now.MTime = max(was.MTime, now.MTime)", ""},
	{3, "layer", "TestChangesBeside", "layer/check_linux.go", "want.MTime == now.MTime {", "want.MTime < 0 {"},
	{3, "layer", "TestWriterAtEachCall", "layer/move_linux.go",
		"if len(out) > 0 {\n\t\tif reason, err", "if len(out) < 0 {\n\t\tif reason, err"},
	{4, "layer", "TestLocksOfGit", "layer/gitlock_linux.go",
		"known[dir] = isGitDir(root, Name(dir))", "known[dir] = false"},
	{4, "layer", "TestGitDirectoryIsOneUnit", "layer/layer_linux.go",
		"if repo, ok := repository(at); ok {", `if repo, ok := repository(at); ok && at == "?" {`},
	{15, "layer", "TestGitReads", "layer/gitreads_linux.go",
		"err == nil && s.CTime >= m.set.Stamp", "err == nil && s.CTime < 0"},
	{15, "layer", "TestGitReads", "layer/gitreads_linux.go", "case dir.head == ref:", `case at == "?":`},
	{15, "layer", "TestGitReads", "layer/gitreads_linux.go",
		`hides && strings.Contains(dir.packed, " "+name+"\n")`, `hides && name == "?"`},
	{4, "layer", "TestUndoOfAPrunedObject", "layer/move_linux.go",
		"if missing := m.pruned(); len(missing) > 0 {", "if missing := m.pruned(); len(missing) < 0 {"},
	{5, "layer", "TestPreimageOfALinkedFile", "layer/layer_linux.go",
		`op.Old, 0, true); reason != "" || err != nil {`,
		`op.Old, 0, true); reason != "" && err == nil && op.Old[0].Links == 1 {`},
	{6, "layer", "TestReason", "layer/plan_linux.go", "err == unix.EXDEV {", "err == unix.EIO {"},
	{6, "layer", "TestApart", "layer/plan_linux.go", "case devices[0] != devices[1]:", "case devices[0] == 0:"},
	{7, "layer", "TestWriterAtEachCall", "layer/check_linux.go",
		"fd, now, err := m.openDir(k)\n\tif err != nil {\n\t\treturn err\n\t}\n\tdefer unix.Close(fd)\n\t" +
			"d, spot := m.set.Dirs[k], m.dirs[k]\n\twant",
		"fd, now, err := m.openDir(k)\n\tif err != nil {\n\t\treturn nil\n\t}\n\tdefer unix.Close(fd)\n\t" +
			"d, spot := m.set.Dirs[k], m.dirs[k]\n\twant"},
	{8, "layer", "TestRecoveryMeetsEdits", "layer/check_linux.go", "l := lister{left: maxEntries}",
		"if m.resume {\nreturn \"\", nil\n}\nl := lister{left: maxEntries}"},
	{8, "layer", "TestPowerCuts", "layer/layer_linux.go",
		"if err := syncfs(int(slots.Fd())); err != nil {", "if err := error(nil); err != nil {"},
	{8, "acceptance", "TestLayerDeaths", "supervisor/landing_linux.go",
		"r.takeBack(ctx, had))", "func([]bool) error { return nil }(had))"},
	{9, "acceptance", "TestLayersLandOnce", "sandbox/start_linux.go",
		"!p.order.Terminal && len(p.overlays) == 0", "!p.order.Terminal"},
	{10, "layer", "TestNoChange", "layer/take_linux.go", "err != nil || same {", "err != nil && same {"},
	{10, "layer", "TestFullDisk", "layer/copy_linux.go",
		"if err := pwriteFull(c.dst, part, at); err != nil {",
		"if err := pwriteFull(c.dst, part, at); err != nil && c.dst < 0 {"},
	{11, "layer", "TestAttributes", "layer/copy_linux.go", "s.Mode &^= 0o6000", "s.Mode &^= 0"},
	{11, "layer", "TestAttributes", "layer/make_linux.go",
		"return dressOpened(int(upper.Fd()), s, State{Kind: Dir})", "_ = s\nreturn nil"},
	{11, "layer", "TestAdopt", "layer/make_linux.go", "if !have.sameMetadata(want) {", "if have.Kind != want.Kind {"},
	{11, "layer", "TestAdopt", "layer/make_linux.go", "if have.MTime != want.MTime {", "if have.MTime < 0 {"},
	{11, "acceptance", "TestWarmLayersShowTheProject", "layer/make_linux.go",
		"if !have.sameMetadata(want) {", "if have.Kind != want.Kind {"},
	{11, "layer", "TestAttributes", "layer/node_linux.go", "if marks {", `if marks && name == "?" {`},
	{11, "layer", "TestLandsAsDirect", "layer/check_linux.go", "want.MTime = d.New.MTime", "want.MTime = now.MTime"},
	{11, "layer", "TestReason", "layer/plan_linux.go", "err == unix.ENOTSUP {", "err == unix.EPERM {"},
	{11, "layer", "TestUnmarkedDirectoryOfALayer", "layer/take_linux.go",
		"case now.Kind == Dir && !opaque && was.Kind == Dir:", "case now.Kind == Dir && !opaque && was.Kind == Special:"},
	{11, "acceptance", "TestDirectAndSaysSo", "layer/plan_linux.go", "case marked(root, name):", "case name == \"\":"},
	{11, "acceptance", "TestLayersMarksDoNotLand", "layer/node_linux.go", "if marks {", `if marks && name == "?" {`},
	{12, "layer", "TestRefreshedIndex", "layer/index_linux.go",
		"if err != nil || !changed {", "if err != nil || changed {"},
	{13, "layer", "TestHardLinks", "layer/take_linux.go", "replaced[op.Old[0].Inode] < op.Old[0].Links", "false"},
	{14, "layer", "TestStackedOnHeld", "layer/below_linux.go",
		"for _, v := range b {\n\t\tnow", "for _, v := range b[:0] {\n\t\tnow"},
	{14, "layer", "TestStackedOnHeld", "layer/layer_linux.go", "errors.Join(l.save(), l.Prune())", "l.save()"},
	{14, "acceptance", "TestLayersHeldGoStale", "supervisor/held_linux.go",
		"errors.Join(s.outdate(note.Exec), drop())", "r.l.Drop()"},
	{14, "acceptance", "TestLayersHeldGoStale", "supervisor/stack_linux.go", "if heldID(exec) == id {", "if exec == id {"},
	{14, "acceptance", "TestLayersHeldAreSeen", "supervisor/stack_linux.go",
		"for _, exec := range note.Above {\n\t\tif _", "for _, exec := range note.Above[:0] {\n\t\tif _"},
	{15, "acceptance", "TestLayersNameStaleViews", "supervisor/turns.go", "if v != by {", "if v == nil {"},
	{16, "acceptance", "TestLayersGitWaits", "supervisor/turns.go",
		"words, known := lockers[c.Name()]", `words, known := lockers["?"]`},
	{17, "acceptance", "TestReadersCannotWrite", "bwrap/scan.go",
		"kind == hosttree.Pipe && v.want() == readOnly:", "kind == hosttree.Pipe && v.want() == hidden:"},
	{17, "acceptance", "TestReadersCannotWrite", "bwrap/scan.go",
		"kind == hosttree.Socket && v.want() == readOnly && !s.connect(path),",
		"kind == hosttree.Socket && v.want() == hidden && !s.connect(path),"},
	{16, "acceptance", "TestLayersHoldIgnoredPathsAlone", "supervisor/ignored_linux.go",
		"if known || !r.separable(tops) {", "if known || r.separable(tops) {"},
	{16, "acceptance", "TestLayersHoldIgnoredPathsAlone", "git/ignore.go", "if g.tracks(at) {", "if at == \"?\" {"},
	{17, "layer", "TestFIFO", "layer/copy_linux.go", "c.set.Skipped = append(", "_ = append("},
	{18, "layer", "TestReasonOfOwners", "layer/plan_linux.go",
		"case !mapped(s.UID, s.GID):", `case s.Kind == "?":`},
	{18, "acceptance", "TestLayersNameForeignOwners", "sandbox/refuse_linux.go",
		"for at := entry; at != top &&", "for at := entry; at == top &&"},
	{19, "layer", "TestReason", "layer/plan_linux.go", "if err == nil && at != path &&", `if err == nil && at == "?" &&`},
	{20, "layer", "TestReason", "layer/plan_linux.go", `"an overlay, as in a container"`, `""`},
	{21, "acceptance", "TestSessionPlace", "supervisor/place.go",
		"if !s.isWithin(j.plan.Profile, base) {", "if s == nil {"},
	{22, "files/worker", "TestYoungFileIsReadAgain", "files/worker/scan.go",
		"< max(racy, coarse(st.ChangeTime))", "< coarse(st.ChangeTime)"},
	{22, "files/worker", "TestMappedFileIsReadAgain", "files/worker/scan.go",
		`"", e.Racy || !tree.Quiet(f)`, `"", e.Racy`},
}

// TestMutations wants each mutation to name a test and a place in the code; with $LAYER_MUTATIONS, a rule's number or
// all, it carries them out.
func TestMutations(t *testing.T) {
	for _, m := range mutations {
		file, err := filepath.Abs(filepath.Join("..", m.file))
		if err != nil {
			t.Fatal(err)
		}
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(code), m.old); n != 1 {
			t.Errorf("rule %d: %s has %q %d times", m.rule, m.file, m.old, n)
			continue
		}
		if !defines(t, filepath.Join("..", m.pkg), m.test) {
			t.Errorf("rule %d: %s has no %s", m.rule, m.pkg, m.test)
			continue
		}
		if chosen := os.Getenv("LAYER_MUTATIONS"); chosen == "all" || chosen == strconv.Itoa(m.rule) {
			m.carryOut(t, file, strings.Replace(string(code), m.old, m.new, 1))
		}
	}
}

// defines reports whether a test file of a folder has a test.
func defines(t *testing.T, dir, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "\nfunc "+test+"(t *testing.T) {") {
			return true
		}
	}
	return false
}

// carryOut runs a test with other code in place of a file's (go help build, -overlay).
func (m mutation) carryOut(t *testing.T, file, code string) {
	dir := t.TempDir()
	mutant, overlay := filepath.Join(dir, "mutant.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]map[string]string{"Replace": {file: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{mutant: code, overlay: string(text)} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "test", "./"+m.pkg, "-vet=off", "-count=1", "-timeout=10m", "-run", "^"+m.test+"$")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOFLAGS=-overlay="+overlay, "LAYER_MUTATIONS=", "ACCEPTANCE_LAYER_DEATHS=25")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: "+m.test) {
		t.Errorf("rule %d: %s does not fail with %q in place of %q: %v\n%s", m.rule, m.test, m.new, m.old, err, out)
		return
	}
	t.Logf("rule %d: %s failed:\n%s", m.rule, m.test, out)
}
