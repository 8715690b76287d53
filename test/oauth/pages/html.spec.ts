import { expect } from 'chai'
import fc from 'fast-check'
import { markup, styleElement, textOf, type Html } from '../../../src/oauth/pages/html.ts'

const plain = (html: Html) => textOf(html)

describe('the HTML of the sign-in pages', () => {
  it('escapes values in elements and attributes', () => {
    const hostile = `"><script>alert('1')</script>&amp;`
    const shown = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;'
    expect(plain(markup`<p title="${hostile}">${hostile}</p>`)).to.equal(
      `<p title="${shown}">${shown}</p>`,
    )
  })

  it('escapes all characters that could end an element or attribute', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const html = plain(markup`${value}`)
        expect(html).not.to.match(/[<>"']/)
        const named = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' }
        const back = html.replaceAll(/&[^;]+;/g, (name) => named[name as keyof typeof named])
        expect(back).to.equal(value)
      }),
    )
  })

  it('does not escape its own HTML, and refuses objects that imitate it', () => {
    const inner = markup`<b>${'<'}</b>`
    expect(plain(markup`<p>${inner}${undefined}${[inner, inner]}</p>`)).to.equal(
      '<p><b>&lt;</b><b>&lt;</b><b>&lt;</b></p>',
    )
    const forged = JSON.parse('{"text":"<script>","markup":"<script>"}') as Html
    expect(() => plain(markup`${forged}`)).to.throw(TypeError)
  })

  it('refuses a style sheet with "<"', () => {
    expect(() => styleElement('p{}</style><script>')).to.throw('must have no "<"')
  })
})
