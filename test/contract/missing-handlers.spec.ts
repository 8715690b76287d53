import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeProject, type Project } from '../support/project.ts'

const root = new URL('../../', import.meta.url)

describe('a contract with one more operation and one more tool', () => {
  let project: Project
  let complaints: string[]
  before(async () => {
    project = makeProject()
    for (const name of ['src', 'generated']) {
      cpSync(new URL(name, root), join(project.path, name), { recursive: true })
    }
    addOperation(project)
    addTool(project)
    complaints = await project.compile()
  })
  after(() => project.remove())

  it('does not compile without the handler of the operation', () => {
    expect(complaints.join('\n')).to.match(/^src\/.*(?:\n .*)*'paintFox'/m)
  })

  it('does not compile without the handler of the tool', () => {
    expect(complaints.join('\n')).to.match(/^src\/mcp\/.*'"paint-fox"'/m)
  })
})

function addOperation(project: Project): void {
  change(project, 'operations.ts', 'export const operations = [', (list) => {
    const operation = { id: 'paintFox', method: 'get', path: '/v1/fox', bodyTypes: [] }
    return `${list}\n  ${JSON.stringify(operation)},`
  })
  change(project, 'types.ts', 'export interface operations {', (list) => {
    return `${list}\n    paintFox: operations['listModels'];`
  })
}

function addTool(project: Project): void {
  change(project, 'tools.ts', 'export const tools = [', (list) => {
    const tool = { name: 'paint-fox', description: 'Paint a fox.', inputSchema: { type: 'object' } }
    return `${list}\n  ${JSON.stringify(tool)},`
  })
  change(project, 'tool-types.ts', 'schemas: {', (list) => {
    return `${list}\n        "paint-fox": Record<string, never>;`
  })
}

function change(project: Project, name: string, from: string, to: (text: string) => string): void {
  const text = readFileSync(join(project.path, 'generated', name), 'utf8')
  expect(text).to.include(from)
  project.write(`generated/${name}`, text.replace(from, to(from)))
}
