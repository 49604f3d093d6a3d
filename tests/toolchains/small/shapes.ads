--  SPDX-License-Identifier: GPL-2.0-or-later
package Shapes is
   type Square is tagged record
      Side : Integer;
   end record;
   function Area (S : Square; Scale : Integer) return Integer;
   procedure Every (N : Integer; Total : in out Integer);
end Shapes;
