import { readdirSync, readFileSync } from 'node:fs'
import { expect } from 'chai'
import { generate } from '../../scripts/generate.ts'

const root = new URL('../../', import.meta.url)

describe('what is generated', function () {
  // It makes twenty files, some of them by compiling two hundred schemas.

  it('is what the contract, the tools and the settings say today', async () => {
    const files = await generate()
    const folder = new URL('generated/', root)
    expect(readdirSync(folder)).to.have.members(Object.keys(files))
    for (const [name, text] of Object.entries(files)) {
      // Compared as a truth: a difference of thousands of lines would only be in the way.
      const fresh = readFileSync(new URL(name, folder), 'utf8') === text
      expect(fresh, `${name} is stale: npm run generate`).to.equal(true)
    }
  })
})
