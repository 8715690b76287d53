import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestGateway } from '../support/gateway.ts'
import { contract } from './clients.ts'
import { pactComplaints } from './pact.ts'
import { clientComplaints, mockComplaints, proxyComplaints } from './prism.ts'
import { run } from './try-client.ts'

/** A check of the contract with another tool. Resolves with the tool's errors; `''` means no errors. */
export type DocumentCheck = {
  name: string
  /** A note that the table shows beside the check. */
  note?: string
  run: (gateway: TestGateway, tools: string) => Promise<string>
}

const root = join(import.meta.dirname, '../..')

export const documentChecks: DocumentCheck[] = [
  {
    name: 'spectral-oas',
    run: async (_gateway, tools) => {
      const ruleset = join(import.meta.dirname, 'spectral.yaml')
      const words = [
        'lint',
        fileURLToPath(contract),
        '-r',
        ruleset,
        '--fail-severity',
        'hint',
        '-q',
      ]
      await run(root, join(tools, '.bin/spectral'), words)
      return ''
    },
  },
  {
    name: 'redocly-recommended-strict',
    run: async () => {
      const words = ['lint', 'openapi.yaml', '--extends', 'recommended-strict']
      await run(root, join(root, 'node_modules/.bin/redocly'), words)
      return ''
    },
  },
  {
    name: 'prism-proxy',
    note: 'an edit as a form is checked on its way, but Prism breaks the bytes of its file',
    run: proxyComplaints,
  },
  { name: 'prism-proxy-official-clients', run: clientComplaints },
  { name: 'prism-mock', run: mockComplaints },
  { name: 'pact-verifier', run: pactComplaints },
]
