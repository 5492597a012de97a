#!/bin/sh
# After removal. deb: "remove" and "purge"; rpm: 0. What users made stays theirs:
# their configuration and their logs are never touched.
set -e
case "${1-}" in
remove | 0)
	rm -rf /run/sandboxd
	[ ! -d /run/systemd/system ] || systemctl daemon-reload
	;;
purge)
	rm -rf /var/lib/sandboxd /run/sandboxd
	rm -f /etc/credstore/sandboxd.heads-key
	rm -f /etc/apparmor.d/sandboxd # an administrator's own: ours went with the package
	rmdir --ignore-fail-on-non-empty /etc/sandboxd/profile.d /etc/sandboxd 2>/dev/null || true
	;;
esac
