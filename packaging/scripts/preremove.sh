#!/bin/sh
# Before removal (deb: "remove", rpm: 0) and before an upgrade. An upgrade needs
# nothing here: running commands continue.
set -e
case "${1-}" in remove | 0) ;; *) exit 0 ;; esac
if command -v systemctl >/dev/null; then
	systemctl --global disable sandboxd-launcher.socket >/dev/null 2>&1 || true
	systemctl disable sandboxd.socket sandboxd-approver.socket sandboxd-heads.socket sandboxd-metrics.socket >/dev/null 2>&1 || true
	mkdir -p /var/lib/sandboxd
	touch /var/lib/sandboxd/removed # an install after this one enables them again
fi
# Here, while there still is something to compare with.
if cmp -s /etc/apparmor.d/sandboxd /usr/share/sandboxd/apparmor/sandboxd; then
	apparmor_parser -R /etc/apparmor.d/sandboxd 2>/dev/null || true
	rm -f /etc/apparmor.d/sandboxd
fi
[ -d /run/systemd/system ] || exit 0

# of_user UID ARG...: systemctl of that user's own service manager. It needs no bus.
of_user() {
	of=$1
	shift
	runuser -u "$(id -nu "$of")" -- env XDG_RUNTIME_DIR="/run/user/$of" systemctl --user "$@"
}

# No new work, then every user's daemon ends its commands as configured.
systemctl stop sandboxd.socket sandboxd-approver.socket sandboxd-heads.socket sandboxd-metrics.socket sandboxd.service 2>/dev/null || true
/usr/bin/sandboxd broker stop-users || true
for unit in $(systemctl list-units --plain --no-legend --state=active 'user@*.service' | cut -d' ' -f1); do
	uid=${unit#user@}
	uid=${uid%.service}
	of_user "$uid" stop sandboxd-launcher.socket sandboxd.socket sandboxd-approver.socket sandboxd-launcher.service sandboxd.service || true
done
systemctl stop 'sandboxd-launcher@*.socket' 'sandboxd-launcher@*.service' 2>/dev/null || true
# What sbx started for a user who has no service manager.
for exe in /proc/[0-9]*/exe; do
	if [ "$(readlink "$exe" 2>/dev/null)" = /usr/bin/sandboxd ]; then
		pid=${exe#/proc/}
		kill "${pid%/exe}" 2>/dev/null || true
	fi
done
