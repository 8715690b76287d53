import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { generate } from '../../scripts/generate.ts'
import { projectFolder } from '../support/folder.ts'

describe('the generated folders', function () {
  it('are up to date with the contract, the tools and the settings', async () => {
    for (const [folder, files] of Object.entries(await generate())) {
      const cwd = join(projectFolder, folder)
      expect(globSync('**/*.*', { cwd }), folder).to.have.members(Object.keys(files))
      for (const [name, text] of Object.entries(files)) {
        // Expects a boolean, because a failure would otherwise print a diff of thousands of lines.
        const fresh = readFileSync(join(cwd, name), 'utf8') === text
        expect(fresh, `${folder}/${name} is stale: npm run generate`).to.equal(true)
      }
    }
  })
})
