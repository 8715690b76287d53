import { expect } from 'chai'
import { applyOverlay } from '../../scripts/generate/overlay.ts'

const document = {
  info: { title: 'A', tags: ['x'] },
  paths: { '/a/{b}': { get: { responses: { '200': { content: { 'text/plain': { old: 1 } } } } } } },
}
const apply = (...actions: object[]) =>
  applyOverlay(document, { overlay: '1.0.0', actions: actions as never })

describe('an overlay', () => {
  it('merges objects, joins lists and replaces other values, in the order of its actions', () => {
    const changed = apply(
      { target: '$.info', update: { title: 'B', tags: ['y'], more: { deep: [1] } } },
      { target: '$', update: { openapi: '3.2.0' } },
      { target: '$.info.more', update: { deep: [2] } },
    )
    expect(changed).to.deep.equal({
      ...document,
      info: { title: 'B', tags: ['x', 'y'], more: { deep: [1, 2] } },
      openapi: '3.2.0',
    })
  })

  it('removes what a wildcard finds', () => {
    const target = "$.paths.*.*.responses['200'].content['text/plain'].old"
    expect(JSON.stringify(apply({ target, remove: true }))).to.include('{"text/plain":{}}')
  })

  it('leaves the document unchanged', () => {
    const before = JSON.stringify(document)
    apply({ target: '$.info', update: { title: 'B' } }, { target: '$.paths', remove: true })
    expect(JSON.stringify(document)).to.equal(before)
  })

  it('is refused when a target matches nothing or has another form', () => {
    for (const target of ["$.paths['/a'].get", '$.info.title.length', '$.info.toString'])
      expect(() => apply({ target, remove: true }), target).to.throw('matches nothing')
    for (const target of ['$..old', '$.paths[0]', 'info', '$.paths[?(@.get)]'])
      expect(() => apply({ target, remove: true }), target).to.throw('other segments')
    expect(() => applyOverlay(document, { overlay: '2.0.0', actions: [] })).to.throw('2.0.0')
  })
})
