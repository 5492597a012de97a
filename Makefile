# Two commands do all the set-up: `make run` and `make test`. See README.md.

GO      ?= go
BIN     := bin
VERSION ?= $(shell cat VERSION)
LDFLAGS := -s -w -X sandboxd/ipc.Release=$(VERSION)
TESTFLAGS ?=

.PHONY: help test-all steady laws sessions git-search escapes-direct layers layers-mutations layers-deaths layers-conflicts deaths sandbox-deaths bench vm-test packages release test-release test-fresh test-arm64 install uninstall \
	pictures run build programs test test-quick vendors workloads lint fuzz fuzz-launch keystrokes differential clean prerequisites

run: programs
	@$(GO) run ./packaging/demo $(if $(CMD),'$(subst ','\'',$(CMD))')

build: prerequisites programs $(BIN)/share/doc

# macOS has no first process of the sandbox, and no libseccomp.
LINUX := $(filter Linux,$(shell uname))
programs: prerequisites
	@mkdir -p $(BIN)
	$(if $(LINUX),cmd/sandboxd-launch/build.sh $(BIN)/sandboxd-launch)
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/sbx ./cmd/sbx/front
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/sbx-verbs ./cmd/sbx
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/sbx-mcp ./cmd/sbx/mcp
	CGO_ENABLED=$(if $(LINUX),1,0) $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/sandboxd

# Manual pages, completions and documents, for make install.
$(BIN)/share/doc: VERSION $(wildcard *.md docs/*.md docs/*/*.md packaging/man/*) | programs
	@GO='$(GO)' packaging/documents.sh $(BIN) $(BIN)/share

# make install PREFIX=$HOME/.local PROGRAM_PREFIX=x- : docs/installation.md. It downloads and builds nothing.
PREFIX ?= /usr/local
install uninstall:
	@PREFIX='$(PREFIX)' PROGRAM_PREFIX='$(PROGRAM_PREFIX)' DESTDIR='$(DESTDIR)' packaging/install.sh $(filter uninstall,$@)

prerequisites:
	@packaging/prerequisites.sh

# The targets with their first sentence.
help:
	@awk '/^# / { if (doc == "") doc = substr($$0, 3) } /^[a-z][a-z0-9 -]*:/ { split($$1, t, ":"); \
		if (doc != "") { sub(/[.:;] .*|[.:]$$/, "", doc); printf "%-18s %s\n", t[1], doc } } !/^#/ && !/=/ { doc = "" }' Makefile

# Every guarantee once: lint and all tests. A skipped test is reported by name; with CI=true it is a failure.
test: build
	@packaging/prerequisites.sh test
	@GO='$(GO)' packaging/test.sh $(TESTFLAGS)

# What test tries once, for both users, both back ends, under the race detector and at a campaign's sizes; hours. SHARD=3/8
# is an eighth, the same for the same number. VENDORS=1, WORKLOADS=1 and VM=1 add what these targets do.
SHARD ?= 1/1
test-all: build
	@packaging/prerequisites.sh test
	@packaging/prerequisites.sh release
	@GO='$(GO)' packaging/test-all.sh $(SHARD)

# TIMES runs of test in a row beside a loaded machine, without a failure; what passed is not repeated for the same tree.
TIMES ?= 10
steady: build
	@packaging/prerequisites.sh test
	@packaging/prerequisites.sh steady
	@GO='$(GO)' packaging/steady.sh $(TIMES)

# What a contributor runs before a commit: the unit tests of every room, without the real daemon,
# without compilers at work inside the filter, and without the tests that wait for ten seconds or more.
LONG := WatchedLooksSeeAll|DeathAtEveryStep|RunDeaths|SlowStrangers|SilentConnectionsAreBounded|NoLauncher|Race|EscapeCatalogue
test-quick:
	@packaging/prerequisites.sh quick
	$(GO) vet ./...
	$(GO) test -short -p 4 -skip '^Test((Refused)?Workloads|$(LONG))$$' $$($(GO) list ./... | grep -vE '^sandboxd/(acceptance|bench|differential|cmd/sbx)$$')

# The agents' own programs from npm (gigabytes), each driven by a scripted model; SBX_VENDORS=DIR has them installed.
vendors: build
	@SBX_VENDORS=$${SBX_VENDORS:-1} $(GO) test ./acceptance ./notify -count=1 -timeout 60m -v \
		-run '^(TestClaudeCodeItself|TestCodexItself|TestCodexExecServerItself|TestHookedAgentsThemselves|TestAgentsInsideThemselves|TestACPThemselves|TestFrameworksThemselves|TestWrappedServersThemselves|TestFormsOfTheirServices)$$'
	@echo 'not tried: Cursor and VS Code: no package has the program; Aider, Goose, Amp: no hook of ours, and not run (docs/agents)'

# A day's work in real projects, inside as outside (docs/workloads.md), and tools in layers; WORKLOAD=redis runs one.
workloads: build
	@packaging/prerequisites.sh workloads
	SBX_WORKLOADS=1 $(GO) test ./acceptance -count=1 -timeout 2h -v -run '$(if $(WORKLOAD),^TestDayWorkloads$$/^$(WORKLOAD)$$,^Test(DayWorkloads|LayeredTools)$$)'

# gofmt, vet and build for both systems, staticcheck with the checks of .golangci.yml.
lint: prerequisites
	@GO='$(GO)' packaging/lint.sh

# Ten minutes of each fuzz target: of the socket (make fuzz), of another room
# (make fuzz ROOM=shell), of all (make fuzz ROOM=.).
FUZZTIME ?= 10m
ROOM ?= ipc
fuzz: build
	@GO='$(GO)' packaging/fuzz.sh $(FUZZTIME) $(ROOM)

# A million sequences of keys at questions, in each form of a question 125,000; a million by the browser's grammar;
# and 6000 at real terminals.
keystrokes:
	KEYSTROKES=125000 $(GO) test ./cmd/sbx/internal/ask -run TestKeystrokes -count=1 -v -timeout 2h
	WEB_KEYSTROKES=1000000 $(GO) test ./cmd/sbx -run TestPageGrammar -count=1 -v
	PTY_KEYSTROKES=1000 $(GO) test ./cmd/sbx -run TestScreenKeystrokes -count=1 -v -timeout 6h

# Campaigns try root and an ordinary user, where make test has one of them.

sessions sandbox-deaths git-search escapes-direct layers-deaths layers-conflicts workloads vendors pictures: \
	export ACCEPTANCE_USERS = both

# A thousand sessions with a job each, as root and as a user, with each back end: nothing is left of them.
sessions:
	for backend in bwrap native; do SESSIONS=1000 ACCEPTANCE_BACKEND=$$backend $(GO) test ./acceptance -count=1 -timeout 2h \
		-run '^TestJobsLeaveNothing$$' || exit; done

# The decoder of sandboxd-launch under sanitizers, beside a model: make fuzz-launch MINUTES=60.
MINUTES ?= 60
fuzz-launch: prerequisites
	@GO='$(GO)' packaging/fuzz.sh $(MINUTES)m sandbox/stage

# Kills daemon, launcher, first process, command and client with each back end, at DEATHS random moments each.
DEATHS ?= 200
sandbox-deaths: build
	SANDBOX_DEATHS=$(DEATHS) $(GO) test ./sandbox -count=1 -timeout 2h -v -run '^TestKilled'
	for backend in bwrap native; do \
		ACCEPTANCE_DEATHS=$(DEATHS) ACCEPTANCE_BACKEND=$$backend $(GO) test ./acceptance -count=1 -timeout 6h -v \
			-run '^TestForcedDeathsLeaveNothing$$' || exit 1; \
	done

# The laws of profiles on 10000 cases each, filters on 100 of each call, and bash on 5000 lines.
laws: prerequisites
	$(GO) test ./profile ./profile/document -count=1 -v -rapid.checks=10000
	$(GO) test ./seccomp -count=1 -v -rapid.checks=100
	ORACLE_LINES=5000 GENERATED_LINES=5000 $(GO) test ./shell -count=1 -v

# Plays 5000 generated sequences of runs that try to leave something which git executes; ACCEPTANCE_GIT_SEED chooses them.
git-search: prerequisites
	ACCEPTANCE_GIT_SEQUENCES=$${ACCEPTANCE_GIT_SEQUENCES:-5000} $(GO) test ./acceptance/ -run TestGitSearch -count=1 -v -timeout 6h

# The whole catalogue of escapes with the native back end and without layers.
escapes-direct: prerequisites
	ACCEPTANCE_ESCAPE_DIRECT=1 $(GO) test ./acceptance -count=1 -timeout 2h -v -run '^TestEscapeCatalogueDirect$$'

# 2000 cases of each property of layers, and a death and a foreign write at each system call of a landing.
layers: prerequisites
	$(GO) test ./layer/ -count=1 -v -timeout 6h -rapid.checks=2000

# Takes each rule of layers out of the code, and wants its test to fail; LAYER_MUTATIONS=4 takes those of rule 4.
layers-mutations: prerequisites
	LAYER_MUTATIONS=$${LAYER_MUTATIONS:-all} $(GO) test ./layer/ -run '^TestMutations$$' -count=1 -v -timeout 2h

# A daemon, launch server or worker that dies at 1000 random moments of layered runs, and 1000 runs beside a program, a
# person's git or another session that writes to the same files.
LAYER_DEATHS ?= 167
layers-deaths: build
	ACCEPTANCE_LAYER_DEATHS=$(LAYER_DEATHS) $(GO) test ./acceptance -count=1 -timeout 6h -v -run '^TestLayerDeaths$$'

LAYER_CONFLICTS ?= 500
layers-conflicts: build
	ACCEPTANCE_LAYER_CONFLICTS=$(LAYER_CONFLICTS) $(GO) test ./acceptance -count=1 -timeout 6h -v -run '^TestLayerConflicts$$'

# Deaths of the daemon and of the file worker: at every step of each change, 4000 in random changes and 1000 in runs.
deaths: prerequisites
	$(GO) test ./files/worker -count=1 -v -timeout 6h -run 'Deaths?' -crash-rounds 4000 -every-death

# What a supervised command costs here; takes some minutes on an idle machine.
bench: build
	$(GO) run ./bench -bin $(BIN) $(BENCHFLAGS)

# 5000 generated profiles, each way, beside the kernel.
differential: prerequisites
	DIFFERENTIAL_PROFILES=5000 $(GO) test -timeout 120m -v ./differential/

# The pictures in docs/img, of the terminal and of the web approver, and a recording of make run.
pictures: build
	docs/img/shoot.sh
	docs/img/questions.sh
	docs/img/record.sh
	PICTURES=$(CURDIR)/docs/img $(GO) test -count=1 -run 'TestWebPictures|TestDesktopNotices' ./acceptance/

# dist/*.deb and dist/*.rpm, byte for byte the same from the same commit.
packages: prerequisites
	@GO='$(GO)' packaging/package.sh

# dist/ with all that a release has; RELEASE_KEY=FILE signs it. docs/releasing.md.
release: prerequisites
	@packaging/prerequisites.sh release
	@GO='$(GO)' packaging/release.sh

# make release twice, in different directories, with a key of the test; some ten minutes.
test-release: prerequisites
	@packaging/prerequisites.sh release
	@GO='$(GO)' packaging/release-test.sh

# README's way on a fresh Debian in a container, with test-quick (TEST=1: make test), and the package's from installation
# to purge; some fifteen minutes.
test-fresh: prerequisites
	@packaging/prerequisites.sh test
	@GO='$(GO)' packaging/fresh-test.sh

# The tests of the rooms that no kernel has a part in, for arm64, by qemu-user.
test-arm64: prerequisites
	@packaging/prerequisites.sh release
	@GO='$(GO)' packaging/arm64-test.sh

# The package in a virtual machine with Debian's kernel and a v2-only control group tree; VM_ARCH=arm64 emulates another.
vm-test: prerequisites
	@packaging/prerequisites.sh vm
	@GO='$(GO)' packaging/vm-test.sh

clean:
	rm -rf $(BIN) dist
