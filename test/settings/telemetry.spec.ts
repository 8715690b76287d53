import { expect } from 'chai'
import { ConfigError, loadConfig, type Variables } from '../../src/settings/config.ts'

const endpoint = 'http://localhost:4318'

describe('the settings of traces and metrics', () => {
  const complaints = (variables: Variables): string => {
    try {
      loadConfig(variables)
    } catch (error) {
      if (error instanceof ConfigError) return error.message
    }
    throw new Error('There was no complaint.')
  }

  it('send nothing and propagate traces by default', () => {
    const { config, secrets } = loadConfig({})
    expect(config).to.deep.include({
      traceContext: 'passed_on',
      otlpEndpoint: undefined,
      otlpProtocol: 'http/protobuf',
      otlpTimeoutMs: 10_000,
      serviceName: 'model-access-gateway',
      resourceAttributes: {},
      tracesSampler: 'parentbased_always_on',
      tracesSamplerArg: 1,
      metricExportIntervalMs: 60_000,
      otelSdkDisabled: false,
    })
    expect(secrets.otlpHeaders).to.equal(undefined)
  })

  it('are the variables of OpenTelemetry', () => {
    const { config, secrets } = loadConfig({
      TRACE_CONTEXT: 'taken',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example/otlp/',
      OTEL_EXPORTER_OTLP_HEADERS: 'Authorization=Basic%20abc=, x-tenant = one',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_TIMEOUT: '5000',
      OTEL_SERVICE_NAME: 'gateway of the north',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=production,zone=a%2Cb',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
      OTEL_METRIC_EXPORT_INTERVAL: '15000',
      OTEL_SDK_DISABLED: 'true',
    })
    expect(config).to.deep.include({
      traceContext: 'taken',
      otlpEndpoint: 'https://collector.example/otlp',
      otlpProtocol: 'http/json',
      otlpTimeoutMs: 5000,
      serviceName: 'gateway of the north',
      resourceAttributes: { 'deployment.environment.name': 'production', zone: 'a,b' },
      tracesSampler: 'parentbased_traceidratio',
      tracesSamplerArg: 0.25,
      metricExportIntervalMs: 15_000,
      otelSdkDisabled: true,
    })
    expect(secrets.otlpHeaders).to.deep.equal({ Authorization: 'Basic abc=', 'x-tenant': 'one' })
    expect(JSON.stringify(config)).to.not.contain('abc=')
  })

  const wrong: [string, Variables, string][] = [
    [
      'gRPC',
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      'OTEL_EXPORTER_OTLP_PROTOCOL must be one of: http/protobuf, http/json; it is "grpc".',
    ],
    [
      'another scheme',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4318' },
      'OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://.',
    ],
    [
      'no address',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://:x' },
      'OTEL_EXPORTER_OTLP_ENDPOINT must be an address. For example: http://localhost:4318',
    ],
    [
      'credentials in the address',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://me:sesame@here' },
      'OTEL_EXPORTER_OTLP_ENDPOINT must not contain credentials. Set them in OTEL_EXPORTER_OTLP_HEADERS.',
    ],
    [
      'a query',
      { OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}?key=sesame` },
      'OTEL_EXPORTER_OTLP_ENDPOINT must be an address without a query',
    ],
    ...['sesame', 'a=%zz', '=sesame', 'a b=sesame', 'a=sesame%0D%0Ab: c'].map(
      (given): [string, Variables, string] => [
        `the headers ${JSON.stringify(given)}`,
        { OTEL_EXPORTER_OTLP_HEADERS: given },
        'OTEL_EXPORTER_OTLP_HEADERS must be written as name=value,name=value, percent-encoded.',
      ],
    ),
    [
      'attributes without values',
      { OTEL_RESOURCE_ATTRIBUTES: 'production' },
      'OTEL_RESOURCE_ATTRIBUTES must be written as name=value,name=value, percent-encoded.',
    ],
    [
      'more than all',
      { OTEL_TRACES_SAMPLER_ARG: '1.5' },
      'OTEL_TRACES_SAMPLER_ARG must be at most 1, not 1.5.',
    ],
    [
      'an unknown sampler',
      { OTEL_TRACES_SAMPLER: 'jaeger_remote' },
      'OTEL_TRACES_SAMPLER must be one of',
    ],
    ['a choice that is none', { TRACE_CONTEXT: 'off' }, 'TRACE_CONTEXT must be one of'],
  ]
  for (const [name, variables, complaint] of wrong) {
    it(`reject ${name}, and quote no secret`, () => {
      const text = complaints(variables)
      expect(text).to.contain(complaint)
      expect(text).to.not.contain('sesame')
    })
  }
})
