import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { parse, parseAllDocuments } from 'yaml'
import { pathOf } from '../../scripts/test-servers/programs.ts'
import { projectFolder } from '../support/program.ts'

const folder = join(projectFolder, 'deploy/helm')
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const chart = parse(read('Chart.yaml')) as { name: string; appVersion: string }
const defaults = parse(read('values.yaml')) as Record<string, unknown>
const check = new Ajv({ strict: false }).compile(JSON.parse(read('values.schema.json')) as object)
const spread = { secrets: { DATABASE_URL: 'postgres://a:b@c/d', METRICS_TOKEN: 'm' } }

type Manifest = { apiVersion: string; kind: string; metadata: { name: string } }
type Model = new (data: object) => { validate(): void }

/** Helm's own library of templates, as Debian has it; Helm is not in a registry that tests can reach. */
const library = '/usr/share/gocode'

describe('the chart', () => {
  it('has the version of the gateway', () => {
    const { version } = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as {
      version: string
    }
    expect(chart.appVersion).to.equal(version)
  })

  it('has values that its schema takes, and a schema that refuses others', () => {
    expect(check(defaults), JSON.stringify(check.errors)).to.equal(true)
    for (const wrong of [
      { replicas: 0 },
      { replica: 2 },
      { secrets: { 'a-b': 'c' } },
      { service: { port: 'http' } },
    ])
      expect(check({ ...defaults, ...wrong }), JSON.stringify(wrong)).to.equal(false)
  })

  describe('with the template engine of Helm (go, golang-github-masterminds-sprig-dev, golang-k8s-sigs-yaml-dev)', function () {
    this.timeout(60_000)
    before(function () {
      if (pathOf('go') === undefined) this.skip()
    })

    const cases: [string, object, string[]][] = [
      [
        'as it is, with a store',
        spread,
        ['ConfigMap', 'Deployment', 'PodDisruptionBudget', 'Secret', 'Service'],
      ],
      [
        'with all that it has',
        {
          existingSecret: 'gateway',
          persistence: { enabled: true, size: '1Gi', storageClass: 'fast' },
          autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4, cpuUtilization: 70 },
          ingress: { ...(defaults['ingress'] as object), enabled: true, tlsSecret: 'tls' },
          serviceMonitor: { enabled: true, interval: '30s' },
          environment: { LOG_LEVEL: 'info' },
          imagePullSecrets: [{ name: 'pull' }],
          nodeSelector: { disk: 'fast' },
          tolerations: [{ key: 'a', operator: 'Exists' }],
          affinity: { nodeAffinity: {} },
          podAnnotations: { a: 'b' },
        },
        [
          'ConfigMap',
          'HorizontalPodAutoscaler',
          'Ingress',
          'PodDisruptionBudget',
          'Service',
          'ServiceMonitor',
          'StatefulSet',
        ],
      ],
    ]
    for (const [name, values, kinds] of cases) {
      it(`renders what Kubernetes takes, ${name}`, async () => {
        expect(check({ ...defaults, ...values })).to.equal(true)
        const manifests = render(values)
        expect(manifests.map(({ kind }) => kind).toSorted()).to.deep.equal(kinds)
        for (const manifest of manifests) {
          // A custom resource, of which Kubernetes itself knows nothing.
          if (manifest.kind !== 'ServiceMonitor') (await modelOf(manifest)).validate()
        }
      })
    }

    it('refuses replicas without a store for all, and a time to end that is too short', () => {
      expect(() => render({})).to.throw('More than one replica needs one store')
      expect(() => render({ ...spread, terminationGracePeriodSeconds: 16 })).to.throw(
        'has to be at least',
      )
      expect(() => render({ ...spread, existingSecret: 'one' })).to.throw(
        "either 'existingSecret' or 'secrets'",
      )
      expect(render({ replicas: 1 }).map(({ kind }) => kind)).to.include('Deployment')
    })
  })
})

function render(values: object): Manifest[] {
  const seen = {
    Values: { ...defaults, ...values },
    Chart: { Name: chart.name, AppVersion: chart.appVersion },
    Release: { Name: 'gateway', Service: 'Helm' },
  }
  const words = ['run', join(projectFolder, 'scripts/chart/render.go'), join(folder, 'templates')]
  const text = execFileSync('go', words, {
    input: JSON.stringify(seen),
    encoding: 'utf8',
    env: { ...process.env, GO111MODULE: 'off', GOPATH: library },
    stdio: 'pipe',
  })
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest)
}

/** The model of a manifest, whose schema is Kubernetes' own. */
async function modelOf(manifest: Manifest): Promise<InstanceType<Model>> {
  const models = (await import(`kubernetes-models/${manifest.apiVersion}`)) as Record<string, Model>
  return new models[manifest.kind]!(manifest)
}
