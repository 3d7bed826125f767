package main

import (
	"fmt"
	"regexp"
	"runtime"
)

// A change is what is deployed otherwise than template.yaml says, and why.
type change struct {
	what, why string
	find      *regexp.Regexp
	with      string
}

// bucket is where the functions' packages lie.
const bucket = "chips-e2e"

// changes are what the template's text goes through for any target: api is the URL of the emulator, and push how the endpoint that frames
// are pushed to begins. A template that one of them does not find is an error, so that none outlives what it was for.
func changes(api, push string) []change {
	return []change{
		{
			"packages come from a bucket", "as sam package would have it",
			regexp.MustCompile(`CodeUri: functions/(\w+)/`), "CodeUri: s3://" + bucket + "/$1.zip",
		},
		{
			"nested templates come from there too", "as sam package would have it",
			regexp.MustCompile(`TemplateURL: infra/(\w+\.yaml)`), "TemplateURL: " + api + "/" + bucket + "/$1",
		},
		{
			"Metadata of the build is left out", "the functions are built already",
			regexp.MustCompile(`(?m)^    Metadata: \{ BuildMethod: go1.x \}\n`), "",
		},
		{
			"the functions are built for " + architecture(), "they run on this machine",
			regexp.MustCompile(`Architectures: \[arm64\]`), "Architectures: [" + architecture() + "]",
		},
		{
			"frames are pushed to the emulator", "execute-api has no host name of its own here",
			regexp.MustCompile(`CHIPS_PUSH_ENDPOINT: !Sub "https://\$\{WebSocketApi\}[^"/]*/`), `CHIPS_PUSH_ENDPOINT: !Sub "` + push,
		},
		{
			"a failed ring is tried 3 times a second apart", "10 times 6 minutes is an hour",
			regexp.MustCompile(`VisibilityTimeout: 360(\n.*maxReceiveCount:) 10`), "VisibilityTimeout: 1$1 3",
		},
	}
}

// gaps are what MiniStack's CloudFormation lacks.
var gaps = []change{
	{
		"DefaultRouteResponse is left out", "MiniStack's CloudFormation has no AWS::ApiGatewayV2::RouteResponse, and it answers frames without one",
		regexp.MustCompile(`(?m)^  DefaultRouteResponse:.*\n(    .*\n)+`), "",
	},
	{
		"the HTTP API's route is a resource of its own", "MiniStack's CloudFormation does not read the API's Body, which SAM writes routes into",
		regexp.MustCompile(`(?m)^  HttpApi:\n`), httpRoute + "$0",
	},
}

// httpRoute is what SAM makes of the function's event Api.
const httpRoute = `  HttpIntegration:
    Type: AWS::ApiGatewayV2::Integration
    Properties:
      ApiId: !Ref HttpApi
      IntegrationType: AWS_PROXY
      IntegrationUri: !GetAtt HttpFunction.Arn
      PayloadFormatVersion: "2.0"
      TimeoutInMillis: 29000
  HttpRoute:
    Type: AWS::ApiGatewayV2::Route
    Properties:
      ApiId: !Ref HttpApi
      RouteKey: ANY /v1/{proxy+}
      Target: !Sub "integrations/$${HttpIntegration}"
`

// architecture is this machine's, as Lambda calls it.
func architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// adapt makes every change to a template.
func adapt(template string, all []change) (string, error) {
	for _, c := range all {
		if !c.find.MatchString(template) {
			return "", fmt.Errorf("%s: the template has no place for it", c.what)
		}
		template = c.find.ReplaceAllString(template, c.with)
	}
	return template, nil
}
