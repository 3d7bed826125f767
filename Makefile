# Everything that is done to this project is done from here; CI calls these targets and nothing else.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

BIN       := $(CURDIR)/.bin
FUNCTIONS := $(notdir $(patsubst %/main.go,%,$(wildcard functions/*/main.go)))
PKGS      ?= ./...

GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT         := $(BIN)/golangci-lint-$(GOLANGCI_LINT_VERSION)
CFN_LINT_VERSION      := 1.51.0
CFN_LINT              := $(or $(shell command -v cfn-lint),$(BIN)/cfn-lint-$(CFN_LINT_VERSION)/bin/cfn-lint)
MINISTACK_VERSION     := 1.5.33
MINISTACK             := $(BIN)/ministack-$(MINISTACK_VERSION)/bin/ministack
SAM_VERSION           := 1.170.0
SAM                   := $(BIN)/aws-sam-cli-$(SAM_VERSION)/bin/sam
export SAM_CLI_TELEMETRY := 0

PACKAGE_LIMIT         := 15000000

.PHONY: help run test lint e2e localstack bench cost build sam deploy clean fuzz fmt

help: ## this list
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9]+):.*## /\1\t/' | expand -t 10

run: ## Chips on this machine, with a demo workspace to try
	@mkdir -p .build
	go build -o .build/chips ./localstack/chips
	exec .build/chips serve --demo $(ARGS)

test: ## every test that needs no account, with the race detector (PKGS narrows it)
	go test -race $(PKGS)

lint: $(GOLANGCI_LINT) $(CFN_LINT) ## golangci-lint, and cfn-lint on the templates
	$(GOLANGCI_LINT) run ./...
	$(CFN_LINT) template.yaml $(wildcard infra/*.yaml)

e2e: $(MINISTACK) $(FUNCTIONS:%=.build/host/%/bootstrap) ## the template deployed on MiniStack, with a conversation on it
	go build -o .build/e2e ./localstack/e2e
	.build/e2e -ministack $(MINISTACK) $(ARGS)

localstack: $(FUNCTIONS:%=.build/linux/%/bootstrap) ## the same on LocalStack (Docker and LOCALSTACK_AUTH_TOKEN; ARGS=-dry-run needs neither)
	go build -o .build/e2e ./localstack/e2e
	.build/e2e -target localstack -functions .build/linux $(ARGS)

fmt: $(GOLANGCI_LINT) ## gofmt and goimports over everything
	$(GOLANGCI_LINT) fmt ./...

fuzz: ## each fuzz target for FUZZTIME (10s)
	@for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$pkg/*_test.go | cut -c6-); do \
	    go test $$pkg -run '^$$' -fuzz "^$$f\$$" -fuzztime $(or $(FUZZTIME),10s); \
	  done; done

bench: $(FUNCTIONS:%=.build/host/%/bootstrap) ## speed as tables (PEERS=1: NATS and Centrifugo too; ARGS="-quick -only write")
	@mkdir -p .build
	go build -o .build/chips ./localstack/chips
	go build -o .build/bench ./localstack/bench
	.build/bench $(if $(PEERS),-peers) $(ARGS)

cost: ## what Chips uses on AWS and costs there, counted by its handlers
	go run ./localstack/cost

build: $(FUNCTIONS:%=.build/%/bootstrap) ## every function's binary for Lambda, under .build/; 15 MB each at most

.build/host/%/bootstrap: FORCE
	CGO_ENABLED=0 go build -tags lambda.norpc -trimpath -ldflags "-s -w" -o $@ ./functions/$*

.build/linux/%/bootstrap: FORCE
	GOOS=linux CGO_ENABLED=0 go build -tags lambda.norpc -trimpath -ldflags "-s -w" -o $@ ./functions/$*

.build/%/bootstrap: FORCE
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc -trimpath -ldflags "-s -w" -o $@ ./functions/$*
	@size=$$(wc -c <$@); [ $$size -le $(PACKAGE_LIMIT) ] || { echo "$@ has $$size bytes: $(PACKAGE_LIMIT) is the most a function may ship"; exit 1; }

sam: $(SAM) ## sam validate --lint and sam build, as deploy does
	@for t in template.yaml infra/*.yaml; do $(SAM) validate --lint --template-file $$t --region us-east-1; done
	GOFLAGS="-trimpath -tags=lambda.norpc -ldflags=-s" $(SAM) build --template-file template.yaml

deploy: lint sam ## sam build and sam deploy (STAGE names a section of infra/samconfig.toml)
	$(SAM) deploy --config-file $(CURDIR)/infra/samconfig.toml --config-env $(or $(STAGE),default)

clean: ## what the other targets made; never the data folder .chips
	rm -rf .build .aws-sam .bin

$(GOLANGCI_LINT):
	@mkdir -p $(BIN)
	GOBIN=$(BIN)/tmp GOFLAGS= go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv $(BIN)/tmp/golangci-lint $@ && rmdir $(BIN)/tmp

$(BIN)/cfn-lint-$(CFN_LINT_VERSION)/bin/cfn-lint:
	python3 -m venv $(BIN)/cfn-lint-$(CFN_LINT_VERSION)
	$(BIN)/cfn-lint-$(CFN_LINT_VERSION)/bin/pip install --quiet cfn-lint==$(CFN_LINT_VERSION)

$(SAM):
	python3 -m venv $(BIN)/aws-sam-cli-$(SAM_VERSION)
	$(BIN)/aws-sam-cli-$(SAM_VERSION)/bin/pip install --quiet aws-sam-cli==$(SAM_VERSION)

$(MINISTACK):
	python3 -m venv $(BIN)/ministack-$(MINISTACK_VERSION)
	$(BIN)/ministack-$(MINISTACK_VERSION)/bin/pip install --quiet "ministack[full]==$(MINISTACK_VERSION)"

FORCE:
