package gateway

import (
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// The names of the API that the events say.
const (
	apiID   = "local"
	stage   = "local"
	account = "000000000000"
)

// event is the event of a route, without headers and query, which only $connect has.
func (s *socket) event(kind, route string) events.APIGatewayWebsocketProxyRequest {
	now := s.g.cfg.Now()
	return events.APIGatewayWebsocketProxyRequest{RequestContext: events.APIGatewayWebsocketProxyRequestContext{
		AccountID: account, APIID: apiID, Stage: stage, DomainName: s.host,
		ConnectionID: s.id, ConnectedAt: s.connectedAt, RequestID: newID(), MessageDirection: "IN",
		EventType: kind, RouteKey: route, Authorizer: s.authorizer,
		RequestTime: now.UTC().Format("02/Jan/2006:15:04:05 -0700"), RequestTimeEpoch: now.UnixMilli(),
		Identity: events.APIGatewayRequestIdentity{SourceIP: s.sourceIP, UserAgent: s.userAgent},
	}}
}

// authorizerEvent is what the authorizer is asked about a $connect.
func authorizerEvent(e events.APIGatewayWebsocketProxyRequest) events.APIGatewayCustomAuthorizerRequestTypeRequest {
	rc := e.RequestContext
	return events.APIGatewayCustomAuthorizerRequestTypeRequest{
		Type:      "REQUEST",
		MethodArn: "arn:aws:execute-api:local:" + account + ":" + apiID + "/" + stage + "/$connect",
		Headers:   e.Headers, MultiValueHeaders: e.MultiValueHeaders,
		QueryStringParameters: e.QueryStringParameters, MultiValueQueryStringParameters: e.MultiValueQueryStringParameters,
		RequestContext: events.APIGatewayCustomAuthorizerRequestTypeRequestContext{
			AccountID: account, APIID: apiID, Stage: stage, RequestID: rc.RequestID,
			Identity: events.APIGatewayCustomAuthorizerRequestTypeRequestIdentity{SourceIP: rc.Identity.SourceIP},
		},
	}
}

// headersOf is a request's headers as WebSocket APIs pass them: names as they were sent, the last value and all values.
func headersOf(r *http.Request) (map[string]string, map[string][]string) {
	last, all := map[string]string{"Host": r.Host}, map[string][]string{"Host": {r.Host}}
	for name, values := range r.Header {
		last[name], all[name] = values[len(values)-1], values
	}
	return last, all
}

func queryOf(r *http.Request) (map[string]string, map[string][]string) {
	last, all := map[string]string{}, map[string][]string{}
	for name, values := range r.URL.Query() {
		last[name], all[name] = values[len(values)-1], values
	}
	return last, all
}

// httpEvent is a request as HTTP APIs pass it: names in lower case, several values joined, the path decoded.
func (g *Gateway) httpEvent(r *http.Request, id string) events.APIGatewayV2HTTPRequest {
	now := g.cfg.Now()
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: "$default", RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery,
		Headers: map[string]string{"host": r.Host}, QueryStringParameters: map[string]string{},
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			RouteKey: "$default", AccountID: account, Stage: "$default", APIID: apiID, RequestID: id, DomainName: r.Host,
			Time: now.UTC().Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: r.URL.Path, Protocol: r.Proto, SourceIP: sourceIP(r), UserAgent: r.UserAgent(),
			},
		},
	}
	for name, values := range r.Header {
		if name == "Cookie" {
			for _, v := range values {
				e.Cookies = append(e.Cookies, strings.Split(v, "; ")...)
			}
			continue
		}
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	for name, values := range r.URL.Query() {
		e.QueryStringParameters[name] = strings.Join(values, ",")
	}
	return e
}
