import { expect } from 'chai'
import fc from 'fast-check'
import { markup, styleElement, textOf, type Html } from '../../../src/oauth/pages/html.ts'

const plain = (html: Html) => textOf(html)

describe('the HTML of the sign-in pages', () => {
  it('has every value as text, in elements and in attributes', () => {
    const hostile = `"><script>alert('1')</script>&amp;`
    const shown = '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;'
    expect(plain(markup`<p title="${hostile}">${hostile}</p>`)).to.equal(
      `<p title="${shown}">${shown}</p>`,
    )
  })

  it('lets no value end what it stands in', () => {
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

  it('keeps HTML as it is, and takes nothing for HTML that it has not made', () => {
    const inner = markup`<b>${'<'}</b>`
    expect(plain(markup`<p>${inner}${undefined}${[inner, inner]}</p>`)).to.equal(
      '<p><b>&lt;</b><b>&lt;</b><b>&lt;</b></p>',
    )
    const forged = JSON.parse('{"text":"<script>","markup":"<script>"}') as Html
    expect(() => plain(markup`${forged}`)).to.throw(TypeError)
  })

  it('takes no style sheet that ends its element', () => {
    expect(() => styleElement('p{}</style><script>')).to.throw('must have no "<"')
  })
})
