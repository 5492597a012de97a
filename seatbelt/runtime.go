package seatbelt

import (
	"sandboxd/profile"
	"sandboxd/profile/abspath"
)

// runtimeFiles lists the grants of every text without a rule of the profile: files of the system itself
// without which no program on macOS starts. Exec means that they are mapped as code, not executed.
// A rule of the profile for them is stronger.
var runtimeFiles = []struct {
	access profile.Access
	paths  []string
}{
	{profile.Read | profile.Exec, []string{"/usr/lib", "/System/Library", "/System/Cryptexes",
		"/System/Volumes/Preboot/Cryptexes"}},
	{profile.Read, []string{
		"/usr/share/icu", "/usr/share/locale", "/usr/share/zoneinfo", "/usr/share/zoneinfo.default",
		"/private/var/db/dyld", "/private/var/db/timezone", "/private/var/select", "/private/etc/localtime",
		"/private/etc/passwd", "/private/etc/protocols", "/private/etc/services",
	}},
	{profile.Read | profile.Write, []string{
		"/dev/fd", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper", "/dev/ptmx",
	}},
}

// runtimeAt returns the access that the runtime may have been granted at p or below it.
func runtimeAt(p string) profile.Access {
	var access profile.Access
	for _, group := range runtimeFiles {
		for _, r := range group.paths {
			if abspath.Contains(p, r) || abspath.Contains(r, p) {
				access |= group.access
			}
		}
	}
	return access
}

// runtimeRules are the needs of every program. No service is named that starts processes for its
// callers (Launch Services, Apple events), holds secrets (the keychain, preferences) or shows the
// screen. sysctls are named one by one as Chromium (common.sb) and Codex do: kern.procargs2, for
// one, would show other processes' arguments.
const runtimeRules = `; what programs on macOS do not start without
(allow process-fork)
(allow file-read*
  (literal "/")
  (subpath "/usr/lib")
  (subpath "/System/Library")
  (subpath "/System/Cryptexes")
  (subpath "/System/Volumes/Preboot/Cryptexes")
  (subpath "/usr/share/icu")
  (subpath "/usr/share/locale")
  (subpath "/usr/share/zoneinfo")
  (subpath "/usr/share/zoneinfo.default")
  (subpath "/private/var/db/dyld")
  (subpath "/private/var/db/timezone")
  (subpath "/private/var/select")
  (literal "/private/etc/localtime")
  (literal "/private/etc/passwd")
  (literal "/private/etc/protocols")
  (literal "/private/etc/services"))
(allow file-map-executable
  (subpath "/usr/lib")
  (subpath "/System/Library")
  (subpath "/System/Cryptexes")
  (subpath "/System/Volumes/Preboot/Cryptexes"))
(allow file-read* file-write* file-ioctl
  (subpath "/dev/fd")
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/random")
  (literal "/dev/urandom")
  (literal "/dev/dtracehelper"))

; pseudo-terminals: only those that the sandbox opened itself
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl
  (literal "/dev/ptmx")
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))

(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
(allow mach-host*)
(allow system-socket
  (socket-domain AF_UNIX)
  (require-all (socket-domain AF_SYSTEM) (socket-protocol 2)))
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.bootargs")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.maxfiles")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.tcsm_available")
  (sysctl-name "kern.tcsm_enable")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "machdep.ptrauth_enabled")
  (sysctl-name "security.mac.lockdown_mode_state")
  (sysctl-name "sysctl.proc_cputype")
  (sysctl-name "vm.loadavg"))
; Java and V8 hand a buffer to what is a read
(allow sysctl-write
  (sysctl-name "kern.grade_cputype")
  (sysctl-name "kern.tcsm_enable"))

`

// lastRules end every text. The links in the root directory can be followed, and realpath(3) looks at the directories
// on the way to the files above; nobody gets the set-user-ID bits, or removes a device.
const lastRules = `
; the same for every profile
(allow file-read-metadata
  (literal "/dev")
  (literal "/etc")
  (literal "/tmp")
  (literal "/var")
  (literal "/private")
  (literal "/private/etc")
  (literal "/private/var")
  (literal "/private/var/db")
  (literal "/System")
  (literal "/System/Volumes")
  (literal "/System/Volumes/Preboot")
  (literal "/usr")
  (literal "/usr/share"))
(deny file-write-setugid)
(deny file-write-create file-write-unlink file-write-mode file-write-owner
  (subpath "/dev"))
`
