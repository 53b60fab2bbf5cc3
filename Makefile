# make plots and make test set themselves up; the rest is for working on it.

BIN   := bin/lockcost
STAMP := $(shell date -u +%Y%m%dT%H%M%SZ)
RUN   ?= results/$(STAMP)

# The replica is put at no distance and at one that production may have, as
# WAIT costs just that. QUICK=1 makes the main job a look of about a minute:
# too few runs for intervals, and no P99.9.
ifdef QUICK
RUN_FLAGS ?= --replica-rtt 0,1ms --runs 2 --duration 2s --warmup 500ms
else
RUN_FLAGS ?= --replica-rtt 0,1ms --repeat-invalid 3
endif

# Fault experiments: every scenario, and then how long failovers take and what
# crashes lose at several distances. QUICK=1 leaves the second out.
FAILOVER_FLAGS ?= $(if $(QUICK),--quick)
TIME_FLAGS     ?= --scenario crash-steady --paths setnx --down-after 500ms,1s,2s,5s --replica-rtt 0,1ms,10ms

# The race detector needs a C compiler.
RACE := $(if $(shell command -v gcc),-race)

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c

.DEFAULT_GOAL := help
.PHONY: help plots paths test bench failover capacity deps test-deps image build lint clean

help:
	@echo "make plots    install what is missing, measure the four paths, draw the figures"
	@echo "              (QUICK=1: in about a minute; RUN_FLAGS='--rate 2000': flags of lockcost run)"
	@echo "make paths    the same for every path there is, at a rate that ZooKeeper keeps too (some ten minutes)"
	@echo "make failover make the failovers that lose locks, count what each path lets through, draw it"
	@echo "              (some 35 minutes; QUICK=1: four)"
	@echo "make capacity find the highest rate at which the four paths keep an SLO, and what WAIT costs at the"
	@echo "              distances that replicas have (under 20 minutes; QUICK=1: two)"
	@echo "make test     install what is missing, run the tests against real servers"
	@echo "make bench    go test -bench, read by benchstat"
	@echo "make build    bin/lockcost"
	@echo "make deps     the servers: by apt, and etcd from its Go module"
	@echo "make image    an image with the servers, for --env container without a registry"
	@echo "make lint     gofmt, vet (Linux and macOS), staticcheck"
	@echo "make clean    remove what was built and the runs that are not kept"

# Status 3 is a run in which a measurement is not valid or the system was
# saturated: the table and the figures say so, and are made all the same.
plots: deps build
	$(BIN) run --out $(RUN) $(RUN_FLAGS) || [ $$? -eq 3 ]
	$(BIN) plot $(RUN) --out plots/$(notdir $(RUN)) > /dev/null
	@echo "Figures: plots/$(notdir $(RUN)); the run: $(RUN)"

# Three JVMs and three members of etcd share the servers' CPU with all others,
# and each of their writes is synced: a lower rate, or it is their limit that is
# measured.
PATH_FLAGS ?= --rate 200 --duration 4s $(if $(QUICK),--runs 2,--repeat-invalid 2)

paths: deps build
	$(BIN) run --out $(RUN) --paths all $(PATH_FLAGS) || [ $$? -eq 3 ]
	$(BIN) plot $(RUN) --out plots/$(notdir $(RUN)) > /dev/null
	@echo "Figures: plots/$(notdir $(RUN)); the run: $(RUN)"

failover: deps build
	$(BIN) failover --out $(RUN) $(FAILOVER_FLAGS) || [ $$? -eq 3 ]
	$(BIN) plot $(RUN) --out plots/$(notdir $(RUN)) > /dev/null
ifndef QUICK
	$(BIN) failover --out $(RUN)-time $(TIME_FLAGS) || [ $$? -eq 3 ]
	$(BIN) plot $(RUN)-time --out plots/$(notdir $(RUN))-time > /dev/null
endif
	@echo "Figures: plots/$(notdir $(RUN))*; the experiments: $(RUN)*"

# What is varied is measured at a rate that one small machine keeps quietly.
VARY           := --vary replica-rtt=0,250us,500us,1ms,2ms,5ms,10ms --rate 500
CAPACITY_FLAGS ?= --slo p99=5ms $(if $(QUICK),--repeat 1 --runs 1) $(VARY)

capacity: deps build
	$(BIN) sweep --out $(RUN) $(CAPACITY_FLAGS) || [ $$? -eq 3 ]
	$(BIN) plot $(RUN) --out plots/$(notdir $(RUN)) > /dev/null
	@echo "Figures: plots/$(notdir $(RUN)); the sweep: $(RUN)"

# Tests that start and end servers wait most of the time, and go two at once.
# The others one at a time: those of the load generator would not share a small
# machine with databases.
PATIENT = $(shell go list ./env/container/... ./env/external/... ./env/process/... ./env/supervisor/...)

test: deps test-deps
	go test $(RACE) -p 2 -timeout 20m $(TEST_FLAGS) $(PATIENT)
	go test $(RACE) -p 1 -timeout 20m $(TEST_FLAGS) $(filter-out $(PATIENT),$(shell go list ./...))

bench: deps
	@mkdir -p bin
	go test -run '^$$' -bench . -benchtime 6000x -timeout 30m ./bench | tee bin/bench.out
	go tool benchstat -col /path bin/bench.out

deps:
	@sh env/deps.sh redis-server=redis-server mariadbd=mariadb-server-core \
		java=default-jre-headless /usr/share/java/zookeeper.jar=libzookeeper-java
	@sh env/etcd.sh

# What only the tests need: Java reads the interval logs that we write, and
# what talks to Redis is tried on other versions of it. The mirror has the
# first of the suites on Debian, another one on Ubuntu. Where it has none, those
# tests are skipped, or fail in CI.
SERVERS := $${XDG_CACHE_HOME:-$$HOME/.cache}/lockcost/servers
SUITES  := trixie,questing,resolute

test-deps:
	@sh env/deps.sh /usr/share/java/hdrhistogram.jar=libhdrhistogram-java
	@sh env/unpack.sh "$(SERVERS)/valkey-8" $(SUITES) valkey-tools valkey-server || [ -z "$$CI" ]
	@sh env/unpack.sh "$(SERVERS)/redis-8" $(SUITES) redis-tools redis-server || [ -z "$$CI" ]

image:
	@sh env/deps.sh debootstrap=debootstrap
	@env/container/image/build

build:
	go build -buildvcs=auto -o $(BIN) ./bench/cmd/lockcost

lint:
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	go vet ./...
	GOOS=darwin GOARCH=arm64 go vet ./...
	go tool staticcheck ./...

clean:
	rm -rf bin results/2* plots/2*
