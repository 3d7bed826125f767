package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cfntypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/chipschat/chips-aws/shared/apigw"
)

const (
	region    = "us-east-1"
	stackName = "chips-e2e"
)

// stack is what was deployed.
type stack struct {
	cfg        aws.Config
	adminToken string
	// edgeSecret is what the edge adds to each request.
	edgeSecret string
	// ids are the physical ids of the resources by their names in the template.
	ids map[string]string
}

func awsConfig(url string) aws.Config {
	return aws.Config{
		Region: region, BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
		APIOptions: []func(*middleware.Stack) error{apigw.PlainBodies},
	}
}

// deploy puts the packages of the functions (folder/NAME/bootstrap) where the template looks for them, makes the secrets, and creates
// the stack.
func deploy(ctx context.Context, t target, template, folder string) (*stack, error) {
	cfg := awsConfig(t.url)
	if err := upload(ctx, s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true }), folder); err != nil {
		return nil, err
	}
	s := &stack{cfg: cfg, adminToken: "adm_" + rand.Text(), edgeSecret: rand.Text(), ids: map[string]string{}}
	for _, made := range []struct {
		name, value string
		kind        ssmtypes.ParameterType
	}{
		{"/chips/admin-token", s.adminToken, ssmtypes.ParameterTypeSecureString},
		{"/chips/edge-secret", s.edgeSecret, ssmtypes.ParameterTypeString},
	} {
		_, err := ssm.NewFromConfig(cfg).PutParameter(ctx, &ssm.PutParameterInput{Name: &made.name, Value: &made.value, Type: made.kind})
		if err != nil {
			return nil, fmt.Errorf("make %s: %w", made.name, err)
		}
	}
	var given []cfntypes.Parameter
	for _, p := range t.parameters {
		given = append(given, cfntypes.Parameter{ParameterKey: &p.name, ParameterValue: &p.value})
	}
	cfn := cloudformation.NewFromConfig(cfg)
	_, err := cfn.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: aws.String(stackName), TemplateBody: &template,
		Parameters:   given,
		Capabilities: []cfntypes.Capability{cfntypes.CapabilityCapabilityIam, cfntypes.CapabilityCapabilityAutoExpand},
	})
	if err != nil {
		return nil, fmt.Errorf("create the stack: %w", err)
	}
	waiter := cloudformation.NewStackCreateCompleteWaiter(cfn, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
		o.MinDelay, o.MaxDelay = 200*time.Millisecond, time.Second
	})
	if err := waiter.Wait(ctx, &cloudformation.DescribeStacksInput{StackName: aws.String(stackName)}, 2*time.Minute); err != nil {
		return nil, fmt.Errorf("create the stack: %w%s", err, whyNot(ctx, cfn))
	}
	made, err := cfn.DescribeStackResources(ctx, &cloudformation.DescribeStackResourcesInput{StackName: aws.String(stackName)})
	if err != nil {
		return nil, err
	}
	for _, r := range made.StackResources {
		s.ids[*r.LogicalResourceId] = aws.ToString(r.PhysicalResourceId)
	}
	return s, nil
}

// upload makes a package of each function.
func upload(ctx context.Context, bin *s3.Client, folder string) error {
	if _, err := bin.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		return fmt.Errorf("make a bucket: %w", err)
	}
	programs, err := packages(folder)
	if err != nil {
		return err
	}
	for _, file := range programs {
		program, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var pack bytes.Buffer
		z := zip.NewWriter(&pack)
		header := &zip.FileHeader{Name: "bootstrap", Method: zip.Store}
		header.SetMode(0o755)
		w, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(program); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		name := filepath.Base(filepath.Dir(file)) + ".zip"
		_, err = bin.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &name, Body: bytes.NewReader(pack.Bytes())})
		if err != nil {
			return fmt.Errorf("upload %s: %w", name, err)
		}
	}
	nested, err := filepath.Glob(nestedTemplates)
	if err != nil {
		return err
	}
	for _, file := range nested {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := filepath.Base(file)
		if _, err = bin.PutObject(ctx, &s3.PutObjectInput{Bucket: aws.String(bucket), Key: &name, Body: bytes.NewReader(text)}); err != nil {
			return fmt.Errorf("upload %s: %w", name, err)
		}
	}
	return nil
}

// nestedTemplates are the templates that the stack's resources name.
const nestedTemplates = "infra/*.yaml"

// packages are the built programs in a folder. None is an error.
func packages(folder string) ([]string, error) {
	programs, err := filepath.Glob(filepath.Join(folder, "*", "bootstrap"))
	if err == nil && len(programs) == 0 {
		err = fmt.Errorf("%s has no NAME/bootstrap: the functions are not built", folder)
	}
	return programs, err
}

// whyNot tells which resources failed.
func whyNot(ctx context.Context, cfn *cloudformation.Client) (why string) {
	out, err := cfn.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: aws.String(stackName)})
	if err != nil {
		return ""
	}
	for _, e := range out.StackEvents {
		if reason := aws.ToString(e.ResourceStatusReason); reason != "" {
			why += fmt.Sprintf("\n  %s %s: %s", aws.ToString(e.LogicalResourceId), e.ResourceStatus, reason)
		}
	}
	return why
}
