import { expect } from 'chai'
import { revisions, runSuite } from './run-suite.ts'

describe('the public conformance suite', () => {
  for (const revision of revisions) {
    it(`fails only the expected scenarios at ${revision}`, async () => {
      const { code, output } = await runSuite({ revision, withTools: false })
      expect(code, output).to.equal(0)
    })
  }
})
