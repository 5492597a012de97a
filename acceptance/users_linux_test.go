package acceptance

import (
	"hash/fnv"
	"os"
	"strings"
	"testing"
)

// allUsers has every test run as root and as an ordinary user: $ACCEPTANCE_USERS=both, in make test-all.
var allUsers = os.Getenv("ACCEPTANCE_USERS") == "both"

// asBoth has a reason for each test in which the uid decides what is tried: it runs as root and as a user. Every other
// test runs as one of them, which its name alone chooses, so that a failure comes again.
var asBoth = map[string]string{
	// Walls: root has capabilities and no user namespace of its own, so that each wall is made in another way.
	"TestEscapeCatalogue":            "the catalogue of escapes",
	"TestForbiddenActs":              "root's capabilities are dropped, a user's never were there",
	"TestFirstProcessIsOutOfReach":   "ptrace(2) and /proc are judged by uid and user namespace",
	"TestSetGroupID":                 "root's daemon has rights that its commands have not",
	"TestNotDumpable":                "the owner of /proc/PID becomes root",
	"TestDevicesOfTheMachine":        "root may open them, where no wall stands",
	"TestReadersCannotWrite":         "root writes to what modes close",
	"TestNoDescriptorIsInherited":    "the launch server has two ways to map users",
	"TestHostileHostsFromInside":     "root can make and configure networks",
	"TestListenersAreTheCommandsOwn": "low ports",
	"TestAllowlistNeedsNamespaces":   "who may make them",
	"TestWarmIsNeverWeaker":          "the plan of a waiting sandbox has a user namespace or none",
	"TestNeverWeakerThanTheFileTool": "modes and owners",
	"TestSessionPlaceMounts":         "mounts of root need no user namespace",
	"TestDegradedHosts":              "what a host lacks differs by uid",
	"TestRefusalsNotAvailable":       "the listener of a user needs no_new_privs",
	// Sockets, and who may answer at them.
	"TestSelfApproval":        "root may open every socket",
	"TestStateIsReadOnly":     "root writes nevertheless",
	"TestPresetOfTheOperator": "the operator's files are root's",
	"TestTerminalPlace":       "terminals have owners",
	// Litter: mounts, processes and control groups are left in different places.
	"TestNoLitter":                  "mounts and groups",
	"TestForcedDeathsLeaveNothing":  "mounts and groups",
	"TestKilledDaemonLeavesNothing": "mounts and groups",
	"TestKilledServerCutsOff":       "the server's parent has another uid",
	"TestDeadDaemonsGroupsAreSwept": "only root has groups of v1",
	"TestJobsLeaveNothing":          "mounts and groups",
	// Limits, which do not bind root (setrlimit(2), RLIMIT_NPROC).
	"TestLimits":       "RLIMIT_NPROC",
	"TestFewProcesses": "RLIMIT_NPROC",
	// Modes and ownership.
	"TestFilePathCatalogue":                 "modes and owners",
	"TestFileWorkerMeetsTheKernel":          "modes and owners",
	"TestLayeredRuns":                       "the overlay's owner is mapped or not",
	"TestLayersWithoutOverlays":             "the overlay of a user needs userxattr",
	"TestLayersNameForeignOwners":           "root gives files away",
	"TestLayersKeepWhatModesClose":          "modes do not close for root",
	"TestLayersOfWhatCantLand":              "modes do not close for root",
	"TestLayersUndoWithoutSetID":            "who may set them",
	"TestUndoOfClosedDirectories":           "modes do not close for root",
	"TestUndoWhereTheProjectCannotBeListed": "modes do not close for root",
	"TestDirectAndSaysSo":                   "mounts below the project",
	"TestStateIsFull":                       "root has blocks in reserve",
}

// users are the subtests that one of t runs as: root, user, or both.
func users(t *testing.T) []string {
	name, _, _ := strings.Cut(t.Name(), "/")
	if _, both := asBoth[name]; both || allUsers {
		return []string{"root", "user"}
	}
	h := fnv.New32a()
	h.Write([]byte(t.Name()))
	return []string{"root", "user"}[h.Sum32()%2:][:1]
}

// wholeMachine says why the test can't run beside another: it looks at, or changes, what others use as well. Every
// other test begins with t.Parallel: TestParallelAcceptance, of the house, wants one of the two.
func wholeMachine(t *testing.T, why string) {
	t.Helper()
	t.Logf("alone: %s", why)
}
