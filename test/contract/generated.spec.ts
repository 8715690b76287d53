import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { generate } from '../../scripts/generate.ts'

const root = new URL('../../', import.meta.url)

describe('the folder generated/', function () {
  it('is up to date with the contract, the tools and the settings', async () => {
    const files = await generate()
    const folder = new URL('generated/', root)
    expect(readdirSync(folder)).to.have.members(Object.keys(files))
    for (const [name, text] of Object.entries(files)) {
      // Expects a boolean, because a failure would otherwise print a diff of thousands of lines.
      const fresh = readFileSync(new URL(name, folder), 'utf8') === text
      expect(fresh, `${name} is stale: npm run generate`).to.equal(true)
    }
  })
})
