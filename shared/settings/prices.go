package settings

import (
	_ "embed"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json"

	"github.com/chipschat/chips-aws/shared/workspace"
)

//go:embed prices.json
var shippedPrices []byte

// shown is a model's price as it is written: dollars for a million tokens of each kind, both needed.
type shown struct {
	InputUSD  *float64 `json:"input_usd"`
	OutputUSD *float64 `json:"output_usd"`
}

// prices are models' prices as the rules take them.
func prices(models map[string]shown) (workspace.Prices, error) {
	all := workspace.Prices{}
	for model, p := range models {
		var price workspace.Price
		for _, part := range []struct {
			name string
			usd  *float64
			to   *workspace.Nanos
		}{{"input_usd", p.InputUSD, &price.Input}, {"output_usd", p.OutputUSD, &price.Output}} {
			if part.usd == nil {
				return nil, fmt.Errorf("%s has no %s", model, part.name)
			}
			n, ok := workspace.NanosOf(*part.usd)
			if !ok {
				return nil, fmt.Errorf("%s of %s is a number from 0 to %d", part.name, model, workspace.MaxUSD)
			}
			*part.to = n
		}
		all[model] = price
	}
	return all, nil
}

// defaultPrices are the shipped prices, with what they were taken from in prices.json. A test reads them.
func defaultPrices() workspace.Prices {
	all, err := readShipped()
	if err != nil {
		panic("settings: prices.json: " + err.Error())
	}
	return all
}

func readShipped() (workspace.Prices, error) {
	var file struct {
		About string `json:"about"`
		Lists []struct {
			Source string           `json:"source"`
			AsOf   string           `json:"as_of"`
			Models map[string]shown `json:"models"`
		} `json:"lists"`
	}
	if err := json.Unmarshal(shippedPrices, &file, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	all := workspace.Prices{}
	for _, list := range file.Lists {
		if list.Source == "" || list.AsOf == "" {
			return nil, fmt.Errorf("a list has no source or no date")
		}
		some, err := prices(list.Models)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, some)
	}
	return all, nil
}

// overPrices are prices with those of a setting put over them.
func overPrices(all workspace.Prices, value string) (workspace.Prices, error) {
	var models map[string]shown
	err := json.Unmarshal([]byte(value), &models, json.RejectUnknownMembers(true))
	if err == nil {
		var more workspace.Prices
		if more, err = prices(models); err == nil {
			all = maps.Clone(all)
			maps.Copy(all, more)
			return all, nil
		}
	}
	return nil, fmt.Errorf(`want {"MODEL":{"input_usd":3,"output_usd":15}}, dollars for a million tokens: %w`, err)
}
