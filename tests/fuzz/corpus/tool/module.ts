/**
 * Say hello.
 * @version 1.0 @author ann
 */
import { a as b } from "./a.js";
export * from '../b';
export const __version__ = `1`;
const re = /[/*]"/g, t = `x ${ f(`y`) } z`;
export default class Oven<T> extends Base {
  static async bake(a: number = 1): Promise<void> { /* } */ }
  get x() { return "}" }
}
interface I { a(): void }
type U = { b: 1 } | I;
export enum E { A = 1 }
function* gen() {}
const arrow = async (x) => { };
