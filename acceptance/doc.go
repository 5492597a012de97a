// Package acceptance has no code: its tests run the real binaries, as root and
// as an ordinary user, against the real kernel, and enter by sbx or by the
// daemon's sockets only.
//
// A file is named TOPIC_linux_test.go. The topics, by their first words:
//
//	shared parts        main, users, buffer, counted, machine, servers, world, apart
//	the main job        run, place, first, pty, stdin, descriptors, demo, tutorial, ordinary, workload
//	questions           absent, shell, readers, ruleprogram, mode, contained, day, batch, presets
//	answers             selfapproval, retry, reload, hangup, left, follow, library
//	walls               escape, alone, forbidden, degraded, devices, dumpable, limits, refused, home, surroundings,
//	                    neverweaker, nested, passed, caches, warm, stuck, agent
//	protected names     protected, planted, watched, cutoff, sametime, relinked
//	git                 gitcontinue, gitkilled, gitleft, gitlinked, gitobjects, gitplan, gitread, gitsearch, gitsubmodule
//	network             network
//	file tool, undo     files, filepaths, filerooms, filedeath, undorun, undogit, layers
//	deaths and disks    death, litter, power, state, statefull, load, soak
//	log                 log, verify
//	agents              hook, mcp, acp, vendor
//	approvers outside   gateway, frontend, web, notices, conformance
//	clients             clients
//	service manager     systemd
package acceptance
