# What people type. The steps themselves, and the versions of the tools, are in
# .ci/run, which needs no make.
FUZZTIME  ?= 20s
SOAK_TIME ?= 2m

TEMPL     := github.com/a-h/templ/cmd/templ@v0.3.1020

.DEFAULT_GOAL := help
.PHONY: help check quick generate test lint e2e e2e-fleet e2e-services e2e-ollama corpus bench bench-all figures fuzz soak demo demo-fleet

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: ## what a commit must pass: vet, lint, formatting, then all tests with the race detector
	.ci/run vet lint race

# Packages whose tests are processes, servers, thousands of nights or minutes of waiting.
SLOW := cmd/ralph|internal/(agent(/.*)?|approval|bench|bootstrap|browser|cli|corpus|dashboard|demo|doctor|e2e|engine|check|fleet|forge|git(/[a-z]+)?|hook|interceptor|journal|notify|operation|outbox|proc|sandbox|session|shim|soak|step|tracker|web(/(api|guard|index|live))?)

quick: ## while you work: the packages of logic, files and pages, without processes (twenty seconds, three from the cache)
	go test -short $$(go list ./... | grep -vE '/($(SLOW))$$')

generate: ## make the Go of the dashboard's templates (internal/web/view, internal/chart)
	go run $(TEMPL) generate -path internal/web/view
	go run $(TEMPL) generate -path internal/chart

test: ## the suite of every day, the house law too
	go test ./...

lint: ## golangci-lint with gofumpt
	.ci/run lint

e2e: ## the dashboard and the screen; a network that goes down; eight agents on a public module; real agent programs against a model server (installs them from npm)
	.ci/run e2e

e2e-services: ## issues and pull requests at a real Gitea on loopback (builds it once, some minutes)
	.ci/run services

e2e-ollama: ## threads, decisions and guidance at a real Ollama with a model of random weights (builds it once, ten minutes)
	.ci/run ollama

corpus: ## real repositories of Go, npm and Debian, worked on whole (downloads them once)
	.ci/run repositories

bench-all figures: export RALPH_E2E_AGENTS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ralph-ci# where .ci/run puts them
bench-all figures: export RALPH_E2E_TEMPORAL ?= $(wildcard $(RALPH_E2E_AGENTS)/temporal-*/temporal)
bench: ## the whole program against its floor, as a table, within five minutes (docs/performance.md)
	go test -run '^$$' -bench Program -skip 'Program/(plan|pause)' -benchtime 1x -timeout 10m ./internal/bench

bench-all: ## all the tables, then the benchmarks of each package: half an hour
	go test -run '^$$' -bench . -benchtime 1x -timeout 60m ./internal/bench
	go test -run '^$$' -bench . -benchmem -timeout 60m $$(go list ./... | grep -v internal/bench)

figures: ## the tables of docs/performance.md, measured anew and written there; on a quiet machine
	go test -run '^$$' -bench . -benchtime 1x -timeout 60m ./internal/bench -update

fuzz: ## every fuzz target for FUZZTIME (20s)
	@set -e; for pkg in $$(go list ./...); do \
		targets=$$(go test -list '^Fuzz' $$pkg); \
		for target in $$(echo "$$targets" | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

soak: ## what the suite of every day leaves out, and long tests: for SOAK_TIME (2m) kill -9 and a person beside at random; kills at every fact, floods, full disks, 50 specs in a row
	SOAK_TIME=$(SOAK_TIME) go test -count=1 -tags soak -timeout 60m ./internal/soak ./internal/e2e ./internal/outbox
	go test -count=1 -timeout 30m ./internal/git ./internal/git/landing ./internal/git/shelve -rapid.checks 200
	RAPID_SEED=0 .ci/run soak # drawn anew
	go test -count=1 -timeout 30m ./internal/engine -run 'TestEveryNight' -rapid.checks 2000

e2e-fleet: ## coordinator and workers as processes over a real Temporal server, killed at random (builds the server once, some minutes)
	.ci/run fleet

demo-fleet: ## a server, a coordinator and three workers on this machine, in a throw-away folder
	.ci/run demofleet

demo: ## two specs in a throw-away repository
	go run ./cmd/ralph demo
