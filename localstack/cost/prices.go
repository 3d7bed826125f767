package main

import "time"

// Prices are list prices of us-east-1 in dollars, as they were on the day below. A source is the page that says so; the few that
// were only found in copies of AWS's price list say that.
const pricesOf = "2026-11-30"

// rate is what one unit costs.
type rate struct {
	dollars float64
	per     float64
	unit    string
	source  string
}

func (r rate) of(n float64) float64 { return n * r.dollars / r.per }

const (
	million = 1e6
	gb      = 1 << 30
)

// What Chips is billed for.
var (
	socketMessage    = rate{1.00, million, "socket messages of up to 32 KB, in or out", "aws.amazon.com/api-gateway/pricing (first billion)"}
	connectionMinute = rate{0.25, million, "connection minutes", "aws.amazon.com/api-gateway/pricing"}
	httpRequest      = rate{1.00, million, "HTTP API requests", "aws.amazon.com/api-gateway/pricing (first 300 million)"}
	writeUnit        = rate{0.625, million, "DynamoDB write units", "aws.amazon.com/dynamodb/pricing/on-demand (since 2024-11)"}
	readUnit         = rate{0.125, million, "DynamoDB read units", "aws.amazon.com/dynamodb/pricing/on-demand (since 2024-11)"}
	storedGB         = rate{0.25, gb, "bytes stored in DynamoDB for a month", "aws.amazon.com/dynamodb/pricing/on-demand"}
	backupGB         = rate{0.20, gb, "bytes in point-in-time recovery for a month", "aws.amazon.com/dynamodb/pricing/on-demand"}
	invocation       = rate{0.20, million, "Lambda invocations", "aws.amazon.com/lambda/pricing"}
	armGBSecond      = rate{0.0000133334, 1, "Lambda GB-seconds, arm64", "aws.amazon.com/lambda/pricing"}
	queueRequest     = rate{0.40, million, "SQS requests", "aws.amazon.com/sqs/pricing"}
	scheduledRun     = rate{1.00, million, "EventBridge Scheduler invocations", "aws.amazon.com/eventbridge/pricing"}
	loggedGB         = rate{0.50, gb, "bytes logged", "aws.amazon.com/cloudwatch/pricing"}
	alarmMonth       = rate{0.10, 1, "CloudWatch alarms for a month", "aws.amazon.com/cloudwatch/pricing"}
	edgeRequest      = rate{1.10, million, "requests through CloudFront and its function", "aws.amazon.com/cloudfront/pricing (HTTPS, United States)"}
	outGB            = rate{0.09, gb, "bytes out to the internet", "aws.amazon.com/ec2/pricing/on-demand (first 10 TB; $0.085 by way of CloudFront)"}
)

// What is assumed, for want of an account.
const (
	// How long a call of DynamoDB and a post to a socket take within a region; Lambda bills waiting as it bills work.
	databaseCall = 5 * time.Millisecond
	pushCall     = 10 * time.Millisecond
	// An invocation's own work on a whole core; make bench measures it. A function has a core for each 1,769 MB.
	ownWork = time.Millisecond
	coreMB  = 1769
	// Lambda has up to five long polls of 20 s going on a queue, and may go down to two while nothing comes
	// (docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html); it is five here.
	pollsAtOnce, pollSeconds = 5, 20
	// A socket lives two hours at most, and is pinged as often as the template says.
	socketLife, pingEvery = 2 * time.Hour, 8 * time.Minute
)

// month is one of 30 days.
const month = 30 * 24 * time.Hour

// free are the allowances that AWS takes off every account's bill each month, for ever.
var free = map[string]float64{
	invocation.unit: 1e6, armGBSecond.unit: 400_000, queueRequest.unit: 1e6, scheduledRun.unit: 14e6, alarmMonth.unit: 10,
	storedGB.unit: 25 * gb, loggedGB.unit: 5 * gb,
}

// peer is a service that carries messages, by its list price: a message is published once and delivered to each who is there.
type peer struct {
	name               string
	publish, deliver   float64 // dollars a million
	minutes            float64 // dollars a million minutes of a connection; -1 where it is in the plan
	base, source, kept string
}

var peers = []peer{
	{"AWS AppSync Events", 1, 1, 0.08, "", "aws.amazon.com/appsync/pricing, per 5 KB", "nothing"},
	{"Ably", 2.50, 2.50, -1, "and $29 a month", "ably.com/pricing", "2 minutes"},
	{"PubNub", 123, 33, -1, "", "pubnub.com/docs/general/resources/pricing, per 2 KB", "by plan"},
	{"Pusher Channels", 1.60, 1.60, -1, "a plan of $49 used to the full", "blog.mattheworiordan.com/p/transparent-pricing-that-rewards", "nothing"},
}
